package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nginxConfig is the configuration of a real web server: TLS, compression, redirects, an old
// charset, a listing of a folder, and a page behind a login. $DIR, $TLS and $PLAIN are
// replaced.
const nginxConfig = `
daemon off; master_process off; pid $DIR/pid; error_log $DIR/error.log;
events {}
http {
	access_log $DIR/access.log; default_type application/octet-stream;
	types { text/html html; text/markdown md; application/pdf pdf; }
	client_body_temp_path $DIR/t1; proxy_temp_path $DIR/t2; fastcgi_temp_path $DIR/t3; uwsgi_temp_path $DIR/t4; scgi_temp_path $DIR/t5;
	gzip on; gzip_min_length 1; gzip_types *;
	server { listen 127.0.0.1:$PLAIN; return 301 https://localhost:$TLS$request_uri; }
	server {
		listen 127.0.0.1:$TLS ssl; server_name localhost; root $DIR/pages;
		ssl_certificate $DIR/cert.pem; ssl_certificate_key $DIR/key.pem;
		location /old/ { charset shift_jis; }
		location /list/ { autoindex on; }
		location /moved/ { return 302 /; }
		location /login/ { auth_basic x; auth_basic_user_file $DIR/none; }
	}
}`

// TestNginx fetches pages of a real web server. NGINX_PROGRAM is its path.
func TestNginx(t *testing.T) {
	t.Parallel()
	nginx := os.Getenv("NGINX_PROGRAM")
	if nginx == "" {
		t.Skip("NGINX_PROGRAM is not set; e2e/nginx/install.sh installs one")
	}
	base := newBase(t)
	dir := filepath.Join(base, "nginx")
	for _, folder := range []string{"pages/old", "pages/list"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tlsPort, plainPort := freePort(t), freePort(t)
	writeCertificate(t, dir)
	put(t, filepath.Join(dir, "pages", "index.html"), "<title>Start</title><main><h1>Start</h1><p>äöü "+strings.Repeat("text ", 10_000)+"</p></main>")
	put(t, filepath.Join(dir, "pages", "old", "sjis.html"), "<p>\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x83y\x81[\x83W\x82\xc5\x82\xb7\x81B</p>")
	put(t, filepath.Join(dir, "pages", "list", "a.md"), "# In Markdown\n")
	config := filepath.Join(dir, "nginx.conf")
	put(t, config, strings.NewReplacer("$DIR", dir, "$TLS", tlsPort, "$PLAIN", plainPort).Replace(nginxConfig))
	cmd := exec.Command(nginx, "-p", dir, "-c", config)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+tlsPort)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	settings := `{"permissions":{"allow":["WebFetch(domain:localhost)"]}}`
	trusted := connect(t, startPlace(t, placeOptions{base: base, settings: settings, env: []string{"SSL_CERT_FILE=" + filepath.Join(dir, "cert.pem")}}), true, nil)
	stranger := connect(t, startPlace(t, placeOptions{settings: settings}), true, nil)
	site := "https://localhost:" + tlsPort
	for _, c := range []struct {
		h         *host
		url, want string
		failed    bool
	}{
		{trusted, site + "/", "äöü text text", false},
		{trusted, site + "/moved/x", `"Start", text/html, characters 0 to `, false},
		{trusted, site + "/old/sjis.html", "日本語のページです。", false},
		{trusted, site + "/list/", "\na.md  ", false},
		{trusted, site + "/list/a.md", "text/markdown]\n", false},
		{trusted, "http://localhost:" + plainPort + "/x", "redirects to another site, which was not fetched. If you need the page, call WebFetch with this URL:\n" + site + "/x", false},
		{trusted, site + "/missing", "answers 404 Not Found. ", true},
		{trusted, site + "/login/", "answers 401 Unauthorized. The page needs a login, or the site refuses programs; fetch another page.", true},
		{stranger, site + "/", "the certificate of localhost:" + tlsPort + " is not signed by an authority that this machine trusts. ", true},
	} {
		args, _ := json.Marshal(map[string]string{"url": c.url})
		if o := c.h.call("WebFetch", string(args)); o.failed != c.failed || !strings.Contains(o.text, c.want) {
			t.Errorf("%s: %.400s", c.url, o.show())
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// writeCertificate writes a certificate for localhost and its key to a folder.
func writeCertificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	put(t, filepath.Join(dir, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}
