// (most, mark, inner) -> [HTML of the document as it is now, or its length when that is over `most`; protocol; frames].
// Open shadow roots stand in place of what they hide, slots filled, as a reader sees them; what a frame of the same origin holds stands
// behind it, in a div with its address, without what speaks of a whole page. Behind each frame of another origin stands an empty div with `mark` and its number as address, when
// there is a mark; `frames` is how many there are, globalThis[mark] are their elements. `inner`: the document is a frame's; its HTML is such
// a div, '' where it is no page of a site, and its URL stands for the protocol. The live document is not touched.
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
  const whole = (node) =>  // these speak of the whole page, or are not shown
    node.nodeType === Node.COMMENT_NODE || /^(?:base|title|noscript|plaintext)$/.test(node.localName)
    || (node.localName === "meta" && !node.hasAttribute("itemprop"));
  const absolute = (node, made) => {  // what a frame's document names is relative to its own address
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
