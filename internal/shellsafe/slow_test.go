//go:build slow

package shellsafe

const (
	randomTexts = 4_000  // given to bash and the parser
	randomPairs = 20_000 // of the metamorphic tests
	gitStride   = 1      // one of so many git lines of the corpus runs in hostile repositories
)
