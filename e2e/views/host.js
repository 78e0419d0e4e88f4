// The host's side of a view, with the published package. Bundled for the browser.
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

const csp = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"; // of empty lists

// open shows a page as a view, as hosts do: in a frame without an origin. It returns once the view
// is initialized.
window.open = async (html, hostContext) => {
  const frame = document.createElement('iframe');
  frame.sandbox = 'allow-scripts';
  frame.style.width = '100%';
  document.body.replaceChildren(frame);
  const host = { sent: [], sizes: [] };
  window.host = host;
  addEventListener('message', (e) => e.source === frame.contentWindow && window.host === host && host.sent.push(e.data));
  host.bridge = new AppBridge(null, { name: 'test', version: '1' }, { openLinks: {}, serverTools: {}, serverResources: {} }, { hostContext });
  host.bridge.onsizechange = (size) => {
    host.sizes.push(size);
    frame.style.height = `${size.height}px`;
  };
  const ready = new Promise((resolve) => { host.bridge.oninitialized = resolve; });
  await host.bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html.replace('<head>', `<head><meta http-equiv="Content-Security-Policy" content="${csp}">`);
  await ready;

  // settled returns once the view has handled all messages before: it answers a ping in its turn.
  let pings = 0;
  host.settled = () => new Promise((resolve) => {
    const id = `ping-${++pings}`;
    addEventListener('message', function answered(e) {
      if (e.source !== frame.contentWindow || e.data.id !== id) return;
      removeEventListener('message', answered);
      resolve();
    });
    frame.contentWindow.postMessage({ jsonrpc: '2.0', id, method: 'ping' }, '*');
  });
};
