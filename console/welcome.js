// Stores the token of requests that change something, for this host and port alone: cookies
// are shared with other ports. Then it replaces the address with the used key.
localStorage.setItem('mcp-toolset-console', document.querySelector('meta[name=token]').content);
location.replace('/console/');
