package shellsafe

import (
	"slices"
	"strings"
	"testing"
)

// TestForms checks that the forms of commands include the spelling that a rule on a
// subcommand must match.
func TestForms(t *testing.T) {
	for _, c := range []struct{ want, commands string }{
		{"git push origin", `git -C repo push origin|git --no-pager push origin|git -c a.b=c push origin|git --git-dir=.git push origin|git --git-dir .git push origin|git -p push origin|git -P push origin|git --bare push origin|git --literal-pathspecs push origin|git --exec-path=/x push origin|git -c a=b -C x --no-pager push origin|git --nosuch push origin|git --nosuch v push origin|git-push origin|/usr/lib/git-core/git-push origin|GIT push origin|git.exe -C x push origin|git -C $D push origin|git -C "$(pwd)" push origin|git -C x push --quiet origin|git --work-tree=. --namespace n push origin`},
		{"docker run alpine", `docker --context=x run alpine|docker --context x run alpine|docker -H tcp://h run alpine|docker -D run alpine|docker container run alpine|docker -D container run alpine|docker run --rm alpine|docker container run -it alpine`},
		{"docker container run alpine", `docker run alpine|docker -D run --rm alpine`},
		{"docker images", `docker image ls|docker -D image list`},
		{"docker image ls x", `docker images x`},
		{"docker compose up web", `docker-compose -f x up web|docker compose -f x up web|docker --context y compose -f x up web|docker compose --project-name "$P" up web`},
		{"kubectl delete pod x", `kubectl --context prod delete pod x|kubectl -n y delete pod x|kubectl --nosuch delete pod x|kubectl delete -n y pod x`},
		{"helm uninstall x", `helm --kube-context p uninstall x|helm del x|helm -n a delete x`},
		{"npm publish", `npm --silent publish|npm --prefix d publish|npm -C d publish|npm --nosuch v publish|npm pub`},
		{"npm run deploy", `npm --prefix d run deploy|npm run-script deploy|npm run --silent deploy|npm --workspace=a run deploy|npm -w a rum --if-present deploy`},
		{"npm install left-pad", `npm i left-pad|npm --silent add left-pad|npm install --save left-pad`},
		{"npm i left-pad", `npm install left-pad`},
		{"pnpm run deploy", `pnpm -C d run deploy|pnpm -r run deploy|pnpm --filter a run deploy`},
		{"yarn run ship", `yarn ship|yarn --cwd d ship|yarn --cwd d run ship`},
		{"yarn ship", `yarn run ship|yarn --cwd d run ship`},
		{"cargo publish", `cargo +nightly publish|cargo -C d publish|cargo --config x=y publish|cargo +nightly -q publish`},
		{"cargo run x", `cargo r x|cargo +nightly r x`},
		{"go install x", `go -C d install x|go install -v x`},
		{"pip install x", `python -m pip install x|python3 -I -m pip install x|python3.11 -mpip install x|pip3 install x|pip3.12 --no-cache-dir install x|pip --proxy p install x|py -m pip -q install x`},
		{"make deploy", `make -C d deploy|make -j4 deploy|make --directory=d deploy|make -f x deploy`},
		{"terraform apply", `terraform -chdir=x apply`},
		{"aws s3 rm x", `aws --profile p s3 rm x|aws --nosuch s3 rm x|aws s3 --profile p rm x|aws --region r --no-paginate s3 rm --quiet x`},
		{"gcloud compute instances delete x", `gcloud --project p compute instances delete x|gcloud compute --project p instances delete x|gcloud compute instances -q delete x`},
		{"az vm delete", `az --subscription s vm delete`},
		{"systemctl stop x", `systemctl --user stop x|systemctl --no-pager -q stop x|systemctl -H h stop x`},
		{"apt-get install x", `apt-get -y install x|apt-get -o a=b -qq install x|apt-get install -y x`},
		{"gh pr merge 1", `gh -R o/r pr merge 1|gh pr -R o/r merge 1|gh pr merge --squash 1`},
		{"svn commit", `svn -q commit|svn --username u commit|svn ci`},
		{"hg push", `hg -R r push|hg --config a.b=c push|hg --cwd d pus`},
		{"bundle exec x", `bundle --gemfile g exec x`},
		{"dotnet nuget push x", `dotnet -d nuget push x|dotnet nuget --nosuch push x`},
		{"gradle publish", `gradle -q publish|gradle -p d publish|gradle --console plain publish`},
		{"foo bar baz", `foo -x bar baz|foo --dir d bar baz|foo bar -x baz`},
	} {
		for _, s := range strings.Split(c.commands, "|") {
			a := Analyse(s, ws)
			ok := slices.ContainsFunc(a.Commands, func(c2 Command) bool {
				return slices.ContainsFunc(c2.Forms, func(f Form) bool { return f.Text == c.want })
			})
			if !ok {
				t.Errorf("%s has no form %q: %+v", s, c.want, a.Commands)
			}
		}
	}
}

// TestFormsNot tests commands that a rule on the subcommand must not match.
func TestFormsNot(t *testing.T) {
	for _, c := range []struct{ no, commands string }{
		{"git push", `git -C push status|git -c push.default=x log|git --git-dir push log|git log push|git stash push x|git commit -m push|git-lfs push`},
		{"npm publish", `npm --prefix publish run x|npm run publish|npm install publish`},
		{"docker run", `docker --context run ps|docker ps run|docker image prune run`},
		{"ls", `ls -la`},
		{"python", `python -c x|python -V`},
		{"pip install x", `python script.py -m pip install x|python -c x -m pip install x`},
	} {
		for _, s := range strings.Split(c.commands, "|") {
			a := Analyse(s, ws)
			for _, cmd := range a.Commands {
				for _, f := range cmd.Forms {
					if f.Text == c.no || strings.Contains(c.no, " ") && strings.HasPrefix(f.Text, c.no+" ") {
						t.Errorf("%s has the form %q", s, f.Text)
					}
				}
			}
		}
	}
}

// TestFormsBounded checks that a command with many flags has few forms, and that
// one of them stands for any command.
func TestFormsBounded(t *testing.T) {
	for _, s := range []string{"npm " + strings.Repeat("--a b ", 2000) + "publish", strings.Repeat("npx --a x ", 1600), "foo" + strings.Repeat(" -a b", 2000)} {
		total := 0
		sure := false
		for _, c := range Analyse(s, ws).Commands {
			for _, f := range c.Forms {
				total += len(f.Text)
				sure = sure || f.KnownPrefix == c.Words[0]+" "
			}
		}
		if total > maxFormBytes+maxListed*(MaxBytes/100) || !sure {
			t.Errorf("%.20s: %d bytes, any %v", s, total, sure)
		}
	}
	for s, want := range map[string]bool{"git lp": true, "git -C x lp -3": true, "git push": false, "git -C x log": false, "git --version": false, "npm lp": false} {
		sure := slices.ContainsFunc(Analyse(s, ws).Commands[0].Forms, func(f Form) bool { return f.KnownPrefix == "git " })
		if sure != want {
			t.Errorf("%s may be an alias: %v", s, sure)
		}
	}
	a := Analyse("git -C $D $X", ws)
	if f := a.Commands[0].Forms; len(f) != 1 || f[0] != (Form{"git $X", "git "}) {
		t.Errorf("%+v", f)
	}
}
