// Reads the current document without changing it. Arguments: most, mark, inner. Returns [text, protocol,
// number of frames of other origins].
// - `text`: the document as HTML. If the HTML has more than `most` characters, `text` is the length of the
//   HTML instead.
// - In the HTML, an element with an open shadow root contains the content of the shadow root. Slots contain
//   their assigned nodes, so the HTML has the same text as the page on the screen.
// - The content of a frame of the same origin is inserted after the frame, in a div with the frame's URL.
//   Elements that concern a whole page, such as `base`, are left out of the div.
// - If `mark` is given, an empty placeholder div is inserted after each frame of another origin. The
//   attribute `data-frame` of the placeholder contains `mark` and the number of the frame. `globalThis[mark]`
//   is the list of the frames of other origins.
// - `inner`: whether the document is in a frame. The `text` of a document in a frame is a div with the
//   frame's URL, or '' if the frame contains no page of a site. The second result is then the URL of the
//   document instead of the protocol.
(most, mark, inner) => {
  const inert = document.implementation.createHTMLDocument("");
  const held = (node) => {
    try { return node.localName === "iframe" && node.contentDocument ? node.contentDocument.body : null; } catch { return null; }
  };
  const far = [];
  const foreign = (node) => mark && node.localName === "iframe" && node.contentWindow && !node.contentDocument;
  const boxed = (body) => {
    const box = inert.createElement("div");
    box.setAttribute("data-frame", body.ownerDocument.URL);
    for (const child of body.childNodes) box.append(...copies(child));
    return box;
  };
  const whole = (node) =>  // elements that concern the whole page, or are not shown
    node.nodeType === Node.COMMENT_NODE || /^(?:base|title|noscript|plaintext)$/.test(node.localName)
    || (node.localName === "meta" && !node.hasAttribute("itemprop"));
  const absolute = (node, made) => {  // URLs in a frame's document are relative to the frame's URL
    for (const name of ["href", "src", "action"])
      if (made.hasAttribute && made.hasAttribute(name) && typeof node[name] === "string") made.setAttribute(name, node[name]);
  };
  const copies = (node) => {
    if ((inner || node.ownerDocument !== document) && whole(node)) return [];
    if (node.localName === "slot" && node.getRootNode() instanceof ShadowRoot) {
      const filled = node.assignedNodes({ flatten: true });
      return (filled.length ? filled : [...node.childNodes]).flatMap(copies);
    }
    const deep = node.localName === "template";
    const made = inert.importNode(node, deep);
    if (inner || node.baseURI !== document.baseURI) absolute(node, made);
    if (!deep) for (const child of (node.shadowRoot || node).childNodes) made.append(...copies(child));
    if (foreign(node)) {
      const place = inert.createElement("div");
      place.setAttribute("data-frame", mark + (far.push(node) - 1));
      return [made, place];
    }
    const body = held(node);
    return body && body.childNodes.length ? [made, boxed(body)] : [made];
  };
  if (mark) globalThis[mark] = far;
  if (inner) {
    const body = /^(?:https?|about|data|blob):/.test(document.URL) && document.body;
    const text = body && body.childNodes.length ? boxed(body).outerHTML : "";
    return [text.length > most ? text.length : text, document.URL, far.length];
  }
  let top = document.documentElement;
  const html = top && top.namespaceURI === "http://www.w3.org/1999/xhtml";
  if (html && [...document.querySelectorAll("*")].some((one) => one.shadowRoot || held(one) || foreign(one))) {
    try { top = copies(top)[0]; } catch (error) { if (!(error instanceof RangeError)) throw error; far.length = 0; }
  }
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\n" : "";
  const text = top ? type + top.outerHTML : "";
  const way = performance.getEntriesByType("navigation")[0];
  return [text.length > most ? text.length : text, way ? way.nextHopProtocol : "", far.length];
}
