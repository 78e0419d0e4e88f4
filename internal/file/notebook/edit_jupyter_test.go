package notebook

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lineDiff returns the lines removed and added between two texts. Each run has the number of its
// first line.
func lineDiff(old, new string) string {
	a, b := strings.SplitAfter(old, "\n"), strings.SplitAfter(new, "\n")
	same := make([][]int, len(a)+1) // number of lines that the rests of both have in common
	for i := range same {
		same[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if same[i][j] = max(same[i+1][j], same[i][j+1]); a[i] == b[j] {
				same[i][j] = same[i+1][j+1] + 1
			}
		}
	}
	var out strings.Builder
	inside := false
	for i, j := 0, 0; i < len(a) || j < len(b); {
		if i < len(a) && j < len(b) && a[i] == b[j] {
			i, j, inside = i+1, j+1, false
			continue
		}
		if !inside {
			fmt.Fprintf(&out, "@%d\n", i+1)
			inside = true
		}
		if j == len(b) || i < len(a) && same[i+1][j] >= same[i][j+1] {
			out.WriteString("-" + a[i])
			i++
		} else {
			out.WriteString("+" + b[j])
			j++
		}
	}
	return out.String()
}

// TestJupyter edits a notebook as written by Jupyter. The diff consists of lines of the cell and
// the comma before it.
func TestJupyter(t *testing.T) {
	before, err := os.ReadFile("testdata/edit/jupyter.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		e    Edit
		want string
	}{
		"replace": {Edit{CellID: "0a1b2c3d", Source: "x, y = 1, 2\nprint('ü', \"x\\n\")\n(x + y) * 1.5"}, `@30
-   "execution_count": 2,
+   "execution_count": null,
@35
-   "outputs": [
-    {
-     "name": "stdout",
-     "output_type": "stream",
-     "text": [
-      "x: 1\n",
-      "y: 2\n"
-     ]
-    },
-    {
-     "data": {
-      "text/plain": [
-       "4.5"
-      ]
-     },
-     "execution_count": 2,
-     "metadata": {},
-     "output_type": "execute_result"
-    }
-   ],
+   "outputs": [],
@57
-    "print('x:', x)\n",
-    "print('y:', y)\n",
+    "print('ü', \"x\\n\")\n",
`},
		"insert": {Edit{Mode: Insert, CellID: "b7c1d2e3", CellType: "code", Source: "%matplotlib inline\nx = 1\n"}, `@30
+   "execution_count": null,
+   "id": "deadbeef",
+   "metadata": {},
+   "outputs": [],
+   "source": [
+    "%matplotlib inline\n",
+    "x = 1\n"
+   ]
+  },
+  {
+   "cell_type": "code",
`},
		"insert first": {Edit{Mode: Insert, CellType: "markdown", Source: "# T"}, `@5
+   "id": "deadbeef",
+   "metadata": {},
+   "source": [
+    "# T"
+   ]
+  },
+  {
+   "cell_type": "markdown",
`},
		"insert last": {Edit{Mode: Insert, CellID: "9e8d7c6b", CellType: "markdown"}, `@69
+  },
+  {
+   "cell_type": "markdown",
+   "id": "deadbeef",
+   "metadata": {},
+   "source": []
`},
		"fill": {Edit{CellID: "cell-3", Source: "x"}, `@68
-   "source": []
+   "source": [
+    "x"
+   ]
`},
		"empty": {Edit{CellID: "cell-1"}, `@15
-   "execution_count": 1,
+   "execution_count": null,
@23
-   "source": [
-    "import numpy as np\n",
-    "import matplotlib.pyplot as plt"
-   ]
+   "source": []
`},
		"delete": {Edit{Mode: Delete, CellID: "3f2a91c0"}, `@4
-   "cell_type": "markdown",
-   "id": "3f2a91c0",
-   "metadata": {},
-   "source": [
-    "# Flächen\n",
-    "\n",
-    "Ein \"Test\" mit \\alpha und 😀"
-   ]
-  },
-  {
`},
		"delete last": {Edit{Mode: Delete, CellID: "9e8d7c6b"}, `@61
-  },
-  {
-   "cell_type": "code",
-   "execution_count": null,
-   "id": "9e8d7c6b",
-   "metadata": {},
-   "outputs": [],
-   "source": []
`},
		"to markdown": {Edit{CellID: "b7c1d2e3", CellType: "markdown", Source: "import"}, `@14
-   "cell_type": "code",
-   "execution_count": 1,
+   "cell_type": "markdown",
@22
-   "outputs": [],
@24
-    "import numpy as np\n",
-    "import matplotlib.pyplot as plt"
+    "import"
`},
		"to code": {Edit{CellID: "3f2a91c0", CellType: "code", Source: "# Flächen\n\nx"}, `@4
-   "cell_type": "markdown",
+   "cell_type": "code",
+   "execution_count": null,
@7
+   "outputs": [],
@10
-    "Ein \"Test\" mit \\alpha und 😀"
+    "x"
`},
	} {
		tc.e.Random = beef()
		after, _, err := Apply(before, tc.e)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tc.want, lineDiff(string(before), string(after))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
