package shellsafe

import "testing"

// TestPublishes tests which commands show something to others.
func TestPublishes(t *testing.T) {
	for command, want := range map[string]string{
		"git push": "git push", "git push origin main": "git push", "git -C x push -u origin b": "git push", "git -c a.b=c push": "git push", "/usr/bin/git push": "git push", "cd x && git push": "git push", "sh -c 'git push'": "git push", "env A=1 git push": "git push", "git send-pack x": "git push", "git push -n": "", "git push --dry-run": "", "git push --help": "", "git push --tags": "git push", "git send-email x.patch": "git send-email", "git svn dcommit": "git svn dcommit",
		"git status": "", "git fetch": "", "git pull": "", "git commit -m 'git push'": "", "git stash push": "", "git subtree push -P a b c": "git subtree push", "git remote add x y": "", "git log push": "",
		"gh repo create x --public": "gh repo create", "gh -R a/b pr create -f": "gh pr create", "gh pr -R a/b merge 5": "gh pr merge", "gh pr new": "gh pr create", "gh pr comment 5 -b 'use --dry-run'": "gh pr comment", "gh pr create --dry-run": "", "gh issue create": "gh issue create", "gh issue comment 5": "gh issue comment", "gh gist create a": "gh gist create", "gh pr view 5": "", "gh pr list": "", "gh pr checkout 5": "", "gh repo view": "", "gh auth status": "",
		"gh api repos/a/b": "", "gh api -X POST repos/a/b/issues": "gh api", "gh api --method=PATCH x": "gh api", "gh api x -f title=y": "gh api", "gh api -XDELETE x": "gh api", "gh api -X GET x -f q=y": "", "gh api graphql -F query=@x": "gh api",
		"glab mr create": "glab mr create", "glab mr note 5": "glab mr note", "glab mr list": "", "hub pull-request": "hub pull-request", "hg push": "hg push", "hg pus": "hg push", "svn ci -m x": "svn ci", "svn commit": "svn commit", "svn update": "", "jj git push": "jj git push", "npm publish": "",
		"helm push a oci://x": "helm push", "vercel deploy --prod": "vercel deploy", "npx wrangler pages deploy d": "wrangler pages deploy", "netlify deploy": "netlify deploy", "netlify dev": "", "hf upload a b": "hf upload", "gcloud app deploy": "gcloud app deploy", "firebase serve": "",
		"vercel": "vercel", "vercel --prod": "vercel", "npx vercel --prod": "vercel", "vercel ./dist": "vercel", "vercel promote x": "vercel promote", "vercel ls": "", "vercel dev": "", "vercel --version": "", "surge dist x.surge.sh": "surge", "surge list": "", "npx gh-pages -d dist": "gh-pages", "npx semantic-release": "semantic-release", "semantic-release --dry-run": "",
		"aws s3 sync . s3://b": "aws s3 sync", "aws s3 sync dist s3://b --delete --region eu": "aws s3 sync", "aws --profile p s3 cp a s3://b/c": "aws s3 cp", "aws s3 --region eu mv a s3://b": "aws s3 mv", "aws s3 cp --acl public-read a s3://b": "aws s3 cp", "aws s3 cp s3://a s3://b": "aws s3 cp", "aws s3 cp s3://b/c .": "", "aws s3 sync s3://b d --delete": "", "aws s3 sync . s3://b --dryrun": "", "aws s3 ls s3://b": "", "aws lambda update-function-code --function-name f": "aws lambda update-function-code",
		"gsutil -m rsync -r d gs://b": "gsutil rsync", "gsutil cp gs://b/c .": "", "gcloud storage cp a gs://b": "gcloud storage cp", "rclone sync d r:b": "rclone sync", "rclone copy r:b d": "", "azcopy copy a https://x": "azcopy copy", "az storage blob upload -f a": "az storage blob upload", "mkdocs gh-deploy": "mkdocs gh-deploy", "npx cdk deploy": "cdk deploy", "cdk synth": "", "ngrok http 80": "ngrok http", "ngrok version": "", "jira issue create": "jira issue create",
	} {
		got := ""
		a := Analyse(command, ws)
		for i := range a.Commands {
			if kind := a.Commands[i].Publishes(); kind != "" && got == "" {
				got = kind
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}
