package socket

// offered is true because the security descriptor of the pipe excludes other
// users.
const offered = true
