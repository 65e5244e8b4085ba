// (most) -> [HTML of the document as it is now, or its length when that is over `most`; protocol of the navigation].
// Open shadow roots stand in place of what they hide, slots filled, as a reader sees them; what a frame of the same origin holds stands
// behind it, in a div with its address. The live document is not touched.
(most) => {
  const inert = document.implementation.createHTMLDocument("");
  const held = (node) => {
    try { return node.localName === "iframe" && node.contentDocument ? node.contentDocument.body : null; } catch { return null; }
  };
  const absolute = (node, made) => {  // what a frame's document names is relative to its own address
    for (const name of ["href", "src", "action"])
      if (made.hasAttribute && made.hasAttribute(name) && typeof node[name] === "string") made.setAttribute(name, node[name]);
  };
  const copies = (node) => {
    if (node.localName === "slot" && node.getRootNode() instanceof ShadowRoot) {
      const filled = node.assignedNodes({ flatten: true });
      return (filled.length ? filled : [...node.childNodes]).flatMap(copies);
    }
    const whole = node.localName === "template";
    const made = inert.importNode(node, whole);
    if (node.baseURI !== document.baseURI) absolute(node, made);
    if (!whole) for (const child of (node.shadowRoot || node).childNodes) made.append(...copies(child));
    const body = held(node);
    if (!body || !body.childNodes.length) return [made];
    const frame = inert.createElement("div");
    frame.setAttribute("data-frame", body.ownerDocument.URL);
    for (const child of body.childNodes) frame.append(...copies(child));
    return [made, frame];
  };
  let top = document.documentElement;
  const html = top && top.namespaceURI === "http://www.w3.org/1999/xhtml";
  if (html && [...document.querySelectorAll("*")].some((one) => one.shadowRoot || held(one))) {
    try { top = copies(top)[0]; } catch (error) { if (!(error instanceof RangeError)) throw error; }
  }
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\n" : "";
  const text = top ? type + top.outerHTML : "";
  const way = performance.getEntriesByType("navigation")[0];
  return [text.length > most ? text.length : text, way ? way.nextHopProtocol : ""];
}
