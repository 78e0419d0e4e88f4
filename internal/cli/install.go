package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"mcp-toolset/clients"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/nearest"
	"mcp-toolset/internal/text/plain"
)

// installer holds the command line of install and uninstall.
type installer struct {
	host    *Host
	system  clients.System
	binary  func() (string, error)
	name    string
	project bool
	print   bool
	url     string // of a server over HTTP; "" for one that the client starts
	http    bool   // whether --http is given
	force   bool
}

// usualName is the name of the server in a client if the user gives none.
const usualName = "toolset"

func newInstaller(host *Host) *installer {
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	return &installer{host: host, binary: stableBinary, system: clients.System{
		OS: runtime.GOOS, Home: host.Home, Getenv: host.Getenv, Exists: exists,
		Look: func(program string) bool { _, err := exec.LookPath(program); return err == nil },
		Glob: func(pattern string) []string { names, _ := filepath.Glob(pattern); return names },
	}}
}

func (in *installer) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&in.project, "project", false, "use the client's file of the project, which is the first DIR or the working directory")
	cmd.Flags().StringVar(&in.name, "name", usualName, "`NAME` of the server in the client")
	cmd.Flags().BoolVar(&in.print, "print", false, "print the change of the file and make none")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return clientNames(), cobra.ShellCompDirectiveNoFileComp
	}
}

func installCommand(host *Host) *cobra.Command {
	in := newInstaller(host)
	cmd := &cobra.Command{
		Use:   "install [flags] [CLIENT [DIR ...]]",
		Short: "Add this server to an MCP client",
		Long: "Adds this server to the configuration file of CLIENT: " + strings.Join(clientNames(), ", ") + ". " +
			"Without CLIENT it lists the clients that it finds.\n\n" +
			"The folders DIR are the workspace. Without any it is the folder that the client has open, if the client has that notion. With --project the first DIR is the project.\n\n" +
			"Everything else in the file stays byte for byte. A backup is made beside it first. A file that cannot be parsed is not changed. " +
			"Afterwards it starts the server as the client would, and lists its tools.\n\n" +
			"A file of a project may come with the project. An entry in it that is not exactly one that install writes is shown, and not started or changed, unless --force replaces it: nothing of it is kept, such as variables. Links in the project are not followed.\n\n" +
			"With --http the client reaches a server that runs, mcp-toolset http, at URL, and no folder is given. Nothing is tried then. The file never has the token: it names the variable MCP_TOOLSET_TOKEN, or the output shows what to add.\n\n" +
			"Exit status: 0 if the client starts the server, or with --http if the entry is in the file, 1 if it would not start, 2 for a wrong command line or a file that cannot be changed.",
		Example: "  mcp-toolset install\n  mcp-toolset install cursor ~/src/app\n  mcp-toolset install vscode --project --print",
		RunE: func(cmd *cobra.Command, args []string) error {
			in.http = cmd.Flags().Changed("http")
			if len(args) == 0 {
				if in.project || in.print || in.http {
					return usagef("name a client: mcp-toolset install CLIENT")
				}
				return in.list()
			}
			return in.install(cmd.Context(), args[0], args[1:])
		},
	}
	in.flags(cmd)
	cmd.Flags().BoolVar(&in.force, "force", false, "with --project, replace an entry that install did not write, with all its settings")
	cmd.Flags().StringVar(&in.url, "http", "", "`URL` of a server that runs, such as http://127.0.0.1:8808/mcp")
	return cmd
}

func uninstallCommand(host *Host) *cobra.Command {
	in := newInstaller(host)
	cmd := &cobra.Command{
		Use:   "uninstall [flags] CLIENT [DIR]",
		Short: "Remove this server from an MCP client",
		Long: "Removes the server that install added to CLIENT. If nothing else has changed the file since then, it is as before, byte for byte. " +
			"DIR is the project for --project. With --http it also removes an entry that does not show that it is this server, if it has that URL.\n\n" +
			"Exit status: 0 if the server is not in the file, 2 for a wrong command line or a file that cannot be changed.",
		Example: "  mcp-toolset uninstall cursor",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("name a client: mcp-toolset uninstall CLIENT")
			case len(args) > 2 || len(args) == 2 && !in.project:
				return usagef("uninstall takes one client, and a folder with --project only; leave out %q", args[len(args)-1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			in.http = cmd.Flags().Changed("http")
			return in.uninstall(cmd.Context(), args[0], args[1:])
		},
	}
	in.flags(cmd)
	cmd.Flags().StringVar(&in.url, "http", "", "remove the entry with this `URL`, even if it does not show that it is this server")
	return cmd
}

func clientNames() (names []string) {
	for _, c := range clients.List {
		names = append(names, c.Name)
	}
	return names
}

var errNoHome = errors.New("the home folder is unknown; set HOME to an absolute path")

var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// findClient returns the client with a name.
func findClient(name string) (*clients.Client, error) {
	if c := clients.Find(name); c != nil {
		return c, nil
	}
	for _, other := range clients.List {
		if slices.Contains(other.Programs, name) {
			return nil, usagef("unknown client %q; did you mean %s?", name, other.Name)
		}
	}
	if near := nearest.Names(name, clientNames(), 1); len(near) == 1 {
		return nil, usagef("unknown client %q; did you mean %s?", name, near[0])
	}
	return nil, usagef("unknown client %q; use one of %s", name, strings.Join(clientNames(), ", "))
}

// place returns the file of a client that the command line selects, and the folders that it names.
func (in *installer) place(client string, args []string) (p clients.Place, folders []string, err error) {
	c, err := findClient(client)
	if err != nil {
		return p, nil, err
	}
	if folders, err = in.folders(args); err != nil {
		return p, nil, err
	}
	switch {
	case !serverName.MatchString(in.name):
		return p, nil, usagef("--name is %s; use letters, digits, - and _", plain.Quote(in.name))
	case !filepath.IsAbs(in.host.Home):
		return p, nil, errNoHome
	case !in.project:
		return in.system.User(c), folders, nil
	case len(c.Project) == 0:
		return p, nil, usagef("%s has no file for a project; leave out --project", c.Title)
	}
	dir := in.host.Dir
	if len(folders) > 0 {
		dir = folders[0]
	}
	if dir == "" || dir == in.host.Home || dir == filepath.Dir(dir) {
		return p, nil, usagef("%s is not a project; name one: mcp-toolset install %s --project DIR", plain.Line(dir), c.Name)
	}
	return in.system.InProject(c, dir), folders, nil
}

// folders returns the absolute paths of folders.
func (in *installer) folders(args []string) (dirs []string, err error) {
	for _, arg := range args {
		dir := filepath.Clean(workspace.Expand(arg, in.host.Dir, in.host.Home))
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, usagef("there is no folder %s", plain.Line(dir))
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

func (in *installer) install(ctx context.Context, client string, args []string) error {
	p, folders, err := in.place(client, args)
	if err != nil {
		return err
	}
	if in.http {
		return in.installURL(ctx, p, folders)
	}
	binary, err := in.binary()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	served := folders
	if in.project && len(folders) == 1 {
		served = nil // the client has it open
	}
	switch {
	case len(served) > 0:
	case p.Client.NeedsFolder:
		return usagef("%s starts servers in no folder of yours; name one: mcp-toolset install %s DIR", p.Client.Title, client)
	case p.Client.Workspace != "":
		served = []string{p.Client.Workspace}
	}
	e := clients.Entry{Command: append([]string{binary, "stdio"}, served...)}
	if installed, err := in.add(ctx, p, e); err != nil || !installed {
		return err
	}
	return in.try(ctx, p, e, served, folders)
}

// installURL adds a server that runs.
func (in *installer) installURL(ctx context.Context, p clients.Place, folders []string) error {
	err := checkURL(in.url)
	switch {
	case err != nil:
		return err
	case !p.Client.TakesURL():
		return usagef("the file of %s has no servers over HTTP; let it start one: mcp-toolset install %s DIR", p.Client.Title, p.Client.Name)
	case len(folders) > 1 || len(folders) == 1 && !in.project:
		return usagef("--http takes no DIR: the server at the URL has its own; leave out %s", plain.Line(folders[len(folders)-1]))
	}
	_, err = in.add(ctx, p, clients.Entry{URL: in.url})
	return err
}

// checkURL returns an error for text that is not a URL of a server, or that a client would replace or
// that a file should not store.
func checkURL(text string) error {
	u, err := url.Parse(text)
	port := 1
	if err == nil && u.Port() != "" {
		port, err = strconv.Atoi(u.Port())
	}
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return usagef("--http is no URL of a server; use one such as http://127.0.0.1:8808/mcp")
	case u.User != nil || strings.ContainsAny(text, "?#"):
		return usagef("--http has a user, a query or a fragment, which the file would store; leave that out")
	case port < 1 || port > 65535 || strings.HasSuffix(u.Host, ":"):
		return usagef("--http has no port of 1 to 65535 after the colon; use one such as http://127.0.0.1:8808/mcp")
	case strings.ContainsFunc(text, unicode.IsSpace) || strings.ContainsAny(text, "${"):
		return usagef("--http has a blank, a $ or a {, which clients may read in their own way; leave that out")
	case strings.Trim(u.Path, "/") == "":
		return usagef("--http has no path; add the one of the server: %s/mcp", strings.TrimRight(text, "/"))
	}
	return nil
}

// add makes the change of a file, or prints it, and reports whether it was made.
func (in *installer) add(ctx context.Context, p clients.Place, e clients.Entry) (installed bool, err error) {
	if in.project {
		if p.Project.Binary, err = in.binary(); err != nil {
			return false, fmt.Errorf("finding this program: %w", err)
		}
		p.Project.Force = in.force
	} else if in.force {
		return false, usagef("--force is for a file of a project; leave it out, or add --project")
	}
	change, err := p.Install(ctx, in.name, e, in.print)
	var foreign *clients.Foreign
	if errors.As(err, &foreign) {
		return false, in.foreign(p, foreign)
	}
	if err != nil {
		return false, in.refused(p, err, "choose another name with --name", "correct that, or add this by hand:", "\n"+plain.Lines(p.Snippet(in.name, e)))
	}
	if in.print {
		return false, in.printDiff(change)
	}
	return true, in.printInstalled(p, change, e)
}

func (in *installer) uninstall(ctx context.Context, client string, args []string) error {
	p, folders, err := in.place(client, args)
	if err != nil {
		return err
	}
	if in.http && in.url == "" {
		return usagef("--http is empty; give the URL of the entry, which mcp-toolset install lists")
	}
	change, err := p.Uninstall(ctx, in.name, in.url, in.print)
	if err != nil {
		return in.refused(p, err, "nothing was removed; --name NAME selects another", fmt.Sprintf("correct that, or remove %s from %s by hand", in.name, p.Client.Table), "")
	}
	if in.print {
		return in.printDiff(change)
	}
	if change.Changed() && change.After == nil {
		top := in.host.Home
		switch {
		case in.project && len(folders) > 0:
			top = folders[0]
		case in.project:
			top = in.host.Dir
		}
		removeEmpty(filepath.Dir(change.Path), top)
	}
	return in.printUninstalled(p, change)
}

// removeEmpty removes a folder in which install has made a file, and those above it below top, as
// far as they are empty: an empty one looks like a client.
func removeEmpty(folder, top string) {
	for {
		rel, err := filepath.Rel(top, folder)
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			return
		}
		if info, err := os.Lstat(folder); err != nil || !info.IsDir() || os.Remove(folder) != nil {
			return
		}
		folder = filepath.Dir(folder)
	}
}

// refused prints the error of a file that was not changed, with the text to add to it. other is the
// next step if the name belongs to another server.
func (in *installer) refused(p clients.Place, err error, other, next, snippet string) error {
	switch {
	case errors.Is(err, clients.ErrOther):
		server := "another server"
		if e, ok, err := p.Entry(in.name); err == nil && ok && e.URL != "" {
			server += ", at " + plain.Line(e.URL)
			if checkURL(e.URL) == nil {
				remove := "mcp-toolset uninstall " + p.Client.Name
				if in.project {
					remove += " --project"
				}
				if in.name != usualName {
					remove += " --name " + in.name
				}
				other += ", or remove this one: " + remove + " --http " + plain.Line(e.URL)
			}
		}
		return usagef("%s: %s is %s; %s", plain.Line(p.Path), in.name, server, other)
	case errors.Is(err, context.Canceled):
		return err
	}
	complain(in.host.Err, fmt.Sprintf("%v\nthe file is unchanged; %s", err, next))
	fmt.Fprint(in.host.Err, snippet)
	return exitCode(exitUsage)
}

// try starts the entry as the client would: in the home folder if the entry names folders, otherwise
// in the project. An empty folder takes its place if none is named.
func (in *installer) try(ctx context.Context, p clients.Place, written clients.Entry, served, folders []string) error {
	entry, ok, err := p.Entry(in.name)
	if in.project {
		entry, ok, err = written, true, p.Written(in.name, written)
	}
	if err == nil && !ok {
		err = fmt.Errorf("%s: the entry is gone; another program has written the file", plain.Line(p.Path))
	}
	if err != nil {
		return err
	}
	dir := in.host.Home
	named := len(served) > 0 && served[0] != p.Client.Workspace
	switch {
	case named:
	case len(folders) > 0:
		dir = folders[0]
	case in.project:
		dir = in.host.Dir
	default:
		if dir, err = os.MkdirTemp("", "mcp-toolset-project"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	done := screenOf(in.host, in.host.Out).progress("starting the server")
	tools, err := entry.Try(ctx, p.Client, dir, dir, in.host.Getenv)
	done()
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case err != nil:
		return fmt.Errorf("%s would not start the server: %w", p.Client.Title, err)
	}
	_, err = fmt.Fprintf(in.host.Out, "check     it starts and lists %d tools\n", tools)
	return err
}

// stableBinary returns the absolute path of this program. It prefers the one on PATH, which may be
// a link that stays when the program is updated.
func stableBinary() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	if found, err := exec.LookPath("mcp-toolset"); err == nil {
		if found, err = filepath.Abs(found); err == nil && sameFile(found, exe) {
			return found, nil
		}
	}
	return exe, nil
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// passing reports whether a program is in a folder whose files are removed after some time.
func passing(binary string) bool {
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", "/private/tmp", "/private/var/folders"} {
		if rel, err := filepath.Rel(dir, binary); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	slashed := filepath.ToSlash(binary)
	return strings.Contains(slashed, "/go-build") || strings.Contains(slashed, "/_npx/")
}
