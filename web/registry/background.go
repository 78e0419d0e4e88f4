package registry

import (
	"slices"
	"sync"

	"mcp-toolset/web/site"
)

// background lists hosts that browsers and build tools reach by themselves, for updates, safe
// browsing, experiments and telemetry, whatever they do. Programs hardly ask for them in the name of
// a user.
var background = []string{
	// Chromium and Chrome
	"clients1.google.com", "clients2.google.com", "clients3.google.com", "clients4.google.com", "clients5.google.com", "clients6.google.com",
	"clientservices.googleapis.com", "update.googleapis.com", "*.gvt1.com", "*.gvt2.com", "edgedl.me.gvt1.com",
	"safebrowsing.google.com", "safebrowsing.googleapis.com", "safebrowsingohttpgateway.googleapis.com", "sb-ssl.google.com",
	"optimizationguide-pa.googleapis.com", "content-autofill.googleapis.com", "passwordsleakcheck-pa.googleapis.com", "chromewebstore.googleapis.com",
	"chromesyncpasswords-pa.googleapis.com", "chromequickanswers-pa.googleapis.com", "accounts.google.com", "android.clients.google.com", "mtalk.google.com",
	"clients2.googleusercontent.com", "beacons.gcp.gvt2.com", "connectivitycheck.gstatic.com", "redirector.gvt1.com",
	// Edge
	"edge.microsoft.com", "config.edge.skype.com", "msedge.api.cdp.microsoft.com", "nav-edge.smartscreen.microsoft.com", "functional.events.data.microsoft.com",
	// Firefox
	"detectportal.firefox.com", "*.services.mozilla.com", "aus5.mozilla.org", "content-signature-2.cdn.mozilla.net", "tracking-protection.cdn.mozilla.net",
	"firefox-settings-attachments.cdn.mozilla.net", "incoming.telemetry.mozilla.org", "ciscobinary.openh264.org", "ads.mozilla.org",
	// Build tools
	"telemetry.vercel.com", "telemetry.nextjs.org", "telemetry.astro.build", "telemetry.nuxt.com", "analytics.gatsbyjs.com", "telemetry.go.dev", "checkpoint-api.hashicorp.com", "checkpoint.prisma.io",
	"cdp.expo.dev", "api.segment.io", "dc.services.visualstudio.com", "mobile.events.data.microsoft.com", "www.google-analytics.com", "ssl.google-analytics.com",
}

var backgroundHosts = sync.OnceValue(func() (hosts []site.Pattern) {
	for _, name := range background {
		hosts = append(hosts, host(name, "").Pattern)
	}
	return hosts
})

// Background reports whether browsers or build tools reach a site by themselves, in the background.
func Background(s site.Site) bool {
	s.Port = 443 // they use others, too
	return slices.ContainsFunc(backgroundHosts(), func(p site.Pattern) bool { return p.Covers(s) })
}
