package notebook

import (
	"testing"
)

// TestPreview checks that the user sees the cell, the operation and the source as text.
func TestPreview(t *testing.T) {
	for in, want := range map[Input]string{
		{NotebookPath: "/n.ipynb", CellID: "c1", EditMode: "replace", NewSource: "a = 1\nb"}:              "/n.ipynb, replace the cell \"c1\":\n+a = 1\n+b\n",
		{NotebookPath: "/n.ipynb", CellID: "c\x1b", EditMode: "insert", CellType: "code", NewSource: "x"}: "/n.ipynb, insert a cell after the cell \"c\\x1b\", as code:\n+x\n",
		{NotebookPath: "/n.ipynb", EditMode: "insert", CellType: "markdown", NewSource: "x"}:              "/n.ipynb, insert a first cell, as markdown:\n+x\n",
		{NotebookPath: "/n.ipynb", CellID: "c1", EditMode: "delete", NewSource: "ignored"}:                "/n.ipynb, delete the cell \"c1\"\n",
	} {
		if got := preview(t.Context(), nil, in); got.Text != want || got.Partial {
			t.Errorf("%+v\ngot  %q\nwant %q", in, got.Text, want)
		}
	}
}
