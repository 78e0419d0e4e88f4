package approval

// offered: the descriptor of a pipe keeps other users from it.
const offered = true
