package match

import "testing"

func TestASCII(t *testing.T) {
	for pattern, want := range map[string]bool{
		`TODO`: true, `TODO|FIXME`: true, `[A-Z_]+`: true, `a{2,3}b?`: true, `^foo$`: true, `(a|b)c*`: true, `\bfoo\b`: true, `\b(foo|bar)\b`: true, `[0-9]+\.[0-9]+`: true,
		`foo.*bar`: false, `\w+`: false, `\s`: false, `\d`: false, `[^a]`: false, `café`: false, `caf.`: false, `a|é`: false, `\B`: false, `foo\B`: false, `\b`: false, ` \b`: false, `\b-`: false, `(?i)k+x`: false,
	} {
		m, err := Compile(pattern, Options{})
		if err != nil {
			t.Fatal(pattern, err)
		}
		if m.ASCII() != want {
			t.Errorf("%s: %v", pattern, m.ASCII())
		}
	}
}
