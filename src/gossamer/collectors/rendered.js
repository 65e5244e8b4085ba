// (most) -> [HTML of the document as it is now, or its length when that is over `most`; protocol of the navigation].
// Open shadow roots stand in place of what they hide, slots filled, as a reader sees them. The live document is not touched.
(most) => {
  const inert = document.implementation.createHTMLDocument("");
  const copies = (node) => {
    if (node.localName === "slot" && node.getRootNode() instanceof ShadowRoot) {
      const filled = node.assignedNodes({ flatten: true });
      return (filled.length ? filled : [...node.childNodes]).flatMap(copies);
    }
    const whole = node.localName === "template";
    const made = inert.importNode(node, whole);
    if (!whole) for (const child of (node.shadowRoot || node).childNodes) made.append(...copies(child));
    return [made];
  };
  let top = document.documentElement;
  const html = top && top.namespaceURI === "http://www.w3.org/1999/xhtml";
  if (html && [...document.querySelectorAll("*")].some((one) => one.shadowRoot)) {
    try { top = copies(top)[0]; } catch (error) { if (!(error instanceof RangeError)) throw error; }
  }
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\n" : "";
  const text = top ? type + top.outerHTML : "";
  const way = performance.getEntriesByType("navigation")[0];
  return [text.length > most ? text.length : text, way ? way.nextHopProtocol : ""];
}
