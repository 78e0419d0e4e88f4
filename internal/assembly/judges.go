package assembly

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/consent/classifier"
	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/pipeline"
	"mcp-toolset/policy"
	"mcp-toolset/session"
)

// judges adds the parts that judge calls besides the rules (hooks, a
// classifier, approvals), and the audit log.
func (a *Assembly) judges(c Config, roots []string, to *pipeline.Config) {
	project := ""
	if len(roots) > 0 {
		project = roots[0]
	}
	a.runners = map[bool]*hook.Runner{}
	for _, closed := range []bool{false, true} {
		a.runners[closed] = hook.New(hook.Config{Environ: c.HookEnv, ProjectDir: project, FailClosed: closed, Log: c.Log})
		a.closers = append(a.closers, a.runners[closed])
	}
	a.judge(c, &to.Rules)
	to.Instance, to.Pending = rand.Text()[:8], c.Approvals
	to.Approvals = approval.New(approval.Config{Folder: a.State, Server: strings.Join(roots, ", "), Now: time.Now, Log: c.Log})
	a.closers = append(a.closers, to.Approvals)
	if c.Audit != nil {
		to.Audit, to.AuditRequired, to.AuditReady = c.Audit.Write, c.Audit.Required(), c.Audit.Ready
		a.closers = append(a.closers, c.Audit)
	}
}

// judge adds the hooks and the classifier of the settings.
func (a *Assembly) judge(c Config, to *pipeline.Rules) {
	if to.Hooks = c.Settings.Hooks(); to.Hooks != nil {
		to.RunHooks = a.runners[c.Settings.HooksFailClosed()].Run
	}
	if stages := c.Settings.Classifier(); len(stages) > 0 {
		if c.Judge == nil && slices.ContainsFunc(stages, func(s classifier.Stage) bool { return s.Model != "" }) {
			c.Log.Warn("the classifier has no opinion, since the settings name no model")
		}
		ask := classifier.New(classifier.Config{Stages: stages, Log: c.Log, Model: c.Judge}).Ask
		to.Classify = func(ctx context.Context, q classifier.Question) *policy.ExternalDecision {
			answer, ok := ask(ctx, q)
			if !ok {
				return nil
			}
			return &policy.ExternalDecision{Behavior: answer.Behavior, Reason: answer.Reason}
		}
	}
}

// gone returns a function that drops the state of an ended session.
func (a *Assembly) gone(c Config, approvals *approval.Store) func(session.View) {
	return func(v session.View) {
		if approvals != nil {
			approvals.Forget(v.Owner().Session)
		}
		if a.Feed != nil {
			a.Feed.Forget(v.Owner())
		}
		if c.Gone != nil {
			c.Gone(v)
		}
	}
}
