package page

import (
	"fmt"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// Characters of the private use area that have a meaning during the conversion, and that
// tidyText removes from pages. The converter uses firstMark for the line ends of code.
const (
	firstMark   = '\uf002'
	markLess    = "\uf003"
	markGreater = "\uf004"
	markBreak   = "\uf005" // a line end in the cell of a table
	lastMark    = '\uf005'
)

// maxEscapes is the limit of the work to escape characters with a meaning in Markdown: in
// each line, their number multiplied by the length. The converter looks at the rest of
// the line for many of them. It takes about 1 s for ten times as much.
const maxEscapes = 1_000_000_000

// Converters write text "<int>" as "&lt;int&gt;", which a model would copy. These retain
// it.
var (
	hideAngles = strings.NewReplacer("<", markLess, ">", markGreater)
	showAngles = strings.NewReplacer(markLess, "<", markGreater, ">", " "+markBreak+" ", "<br>", " "+markBreak, "<br>", markBreak+" ", "<br>", markBreak, "<br>")
)

// markdown converts n, which it changes.
func markdown(n *html.Node) (md string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("converting the page: %v", p)
		}
	}()
	mode := converter.EscapeModeSmart
	if l := (line{}); l.measure(n) > maxEscapes {
		mode = converter.EscapeModeDisabled
	}
	conv := converter.NewConverter(
		converter.WithEscapeMode(mode),
		converter.WithPlugins(
			base.NewBasePlugin(),
			commonmark.NewCommonmarkPlugin(
				commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip),
				commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
				commonmark.WithListEndComment(false),
			),
			table.NewTablePlugin(
				table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
				table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
			),
			strikethrough.NewStrikethroughPlugin(),
		),
	)
	conv.Register.TextTransformer(func(_ converter.Context, s string) string { return hideAngles.Replace(s) }, converter.PriorityEarly)
	out, err := conv.ConvertNode(n)
	if err != nil {
		return "", err
	}
	return strings.ToValidUTF8(showAngles.Replace(string(out)), "\ufffd"), nil
}

// line counts the bytes and the characters with a meaning in Markdown since the last
// element that begins a line.
type line struct{ bytes, special, work int }

// measure returns the work to escape the text of n.
func (l *line) measure(n *html.Node) int {
	l.add(n)
	l.end()
	return l.work
}

func (l *line) add(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			l.bytes += len(c.Data)
			for _, b := range []byte(c.Data) {
				if strings.IndexByte("\\*_-+.>|$#=[]()!~`\"'", b) >= 0 {
					l.special++
				}
			}
			continue
		}
		begins := lines[c.Data] || paragraphs[c.Data] || blocks[c.Data]
		if begins {
			l.end()
		}
		l.add(c)
		if begins {
			l.end()
		}
	}
}

func (l *line) end() {
	l.work += l.bytes * l.special
	l.bytes, l.special = 0, 0
}
