// Reads the current document without changing it. Arguments: most, mark, inner. Returns [text, protocol,
// number of frames of other origins].
// - `text`: the document as HTML. If the HTML has more than `most` characters, `text` is the length of the
//   HTML instead.
// - In the HTML, an element with an open shadow root contains the content of the shadow root. Slots contain
//   their assigned nodes, so the HTML has the same text as the page on the screen. A noscript is empty, unless
//   the server has forbidden the page's scripts.
// - Relative URLs are written as absolute URLs if the document's base is not the URL that was fetched, for
//   example after `history.pushState`. URLs of a document in another encoding than UTF-8 are absolute if they
//   have a character that is not ASCII, because the HTML itself is in UTF-8.
// - The content of a frame of the same origin is inserted after the frame, in a div with the frame's URL.
//   Elements that concern a whole page, such as `base`, are left out of the div.
// - If `mark` is given, an empty placeholder div is inserted after each frame of another origin. The
//   attribute `data-frame` of the placeholder contains `mark` and the number of the frame. `globalThis[mark]`
//   is the list of the frames of other origins.
// - `inner`: whether the document is in a frame. The `text` of a document in a frame is a div with the
//   frame's URL, or '' if the frame contains no page of a site. The second result is then the URL of the
//   document instead of the protocol.
// - Rows that left the page while it was scrolled (`scrolling.js`) stand in their list, at their places.
// - If `use` is given, the script calls `use` with its functions, reads nothing and returns the result.
// - A form field named `childNodes` hides the form's own property of this name. Therefore the script reads
//   properties with the getters of their prototypes, and calls the methods of prototypes. A document that still
//   cannot be walked is returned as the browser serializes it.
(most, mark, inner, use) => {
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const getter = (kind, name) => uncurry(Object.getOwnPropertyDescriptor(kind.prototype, name).get);
  const method = (kind, name) => uncurry(kind.prototype[name]);
  const childNodes = getter(Node, "childNodes"), nodeType = getter(Node, "nodeType"), baseURI = getter(Node, "baseURI");
  const ownerDocument = getter(Node, "ownerDocument"), parentNode = getter(Node, "parentNode"), getRootNode = method(Node, "getRootNode"), appendChild = method(Node, "appendChild");
  const localName = getter(Element, "localName"), namespaceURI = getter(Element, "namespaceURI"), shadowRoot = getter(Element, "shadowRoot");
  const outerHTML = getter(Element, "outerHTML"), querySelectorAll = method(Element, "querySelectorAll");
  const hasAttribute = method(Element, "hasAttribute"), getAttribute = method(Element, "getAttribute"), setAttribute = method(Element, "setAttribute");
  const select = method(Document, "querySelectorAll"), createElement = method(Document, "createElement"), importNode = method(Document, "importNode");
  const contentDocument = getter(HTMLIFrameElement, "contentDocument"), contentWindow = getter(HTMLIFrameElement, "contentWindow");
  const bodyOf = getter(Document, "body"), addressOf = getter(Document, "URL"), encodingOf = getter(Document, "characterSet");
  const linkTarget = getter(HTMLAnchorElement, "href"), assignedNodes = method(HTMLSlotElement, "assignedNodes"), host = getter(ShadowRoot, "host");
  const isElement = (node) => nodeType(node) === Node.ELEMENT_NODE;
  const named = (node, name) => isElement(node) && localName(node) === name;
  const rectOf = method(Element, "getBoundingClientRect");
  const orNull = (read) => { try { return read(); } catch { return null; } };

  const inert = method(DOMImplementation, "createHTMLDocument")(getter(Document, "implementation")(document), "");
  const held = (node) => orNull(() => named(node, "iframe") && contentDocument(node) ? bodyOf(contentDocument(node)) : null);
  const far = [];
  const foreign = (node) => mark && named(node, "iframe") && orNull(() => contentWindow(node) && !contentDocument(node));

  const way = performance.getEntriesByType("navigation")[0];
  const bare = (url) => url.split("#")[0];
  const expected = () => {  // the base from which a reader of the HTML resolves the links
    const base = select(document, "base[href]")[0];
    return orNull(() => bare(new URL(base ? getAttribute(base, "href") : "", way.name).href));
  };
  const moved = bare(baseURI(document)) !== expected(), legacy = encodingOf(document) !== "UTF-8";
  const owners = {
    href: /^(?:a|area|link)$/, src: /^(?:audio|embed|frame|iframe|img|input|script|source|track|video)$/, action: /^form$/,
    formaction: /^(?:button|input)$/, poster: /^video$/, data: /^object$/, cite: /^(?:blockquote|del|ins|q)$/, srcset: /^(?:img|source)$/,
  };
  const scripted = !matchMedia("(scripting: none)").matches;
  const linked = Object.keys(owners).map((name) => `[${name}]`).join();
  const resolvers = new Map();
  const absolute = (value, page) => {  // resolved by an element that is not inserted, in the encoding of the document
    if (!resolvers.has(page)) resolvers.set(page, createElement(page, "a"));
    setAttribute(resolvers.get(page), "href", value);
    return linkTarget(resolvers.get(page)) || value;
  };
  const written = (value, page) => {
    if (legacy && page === document && /[^\x00-\x7f]/.test(value)) return absolute(value, page);
    if (/^\s*[a-z][a-z\d+.-]*:/i.test(value)) return value;
    if (inner || page !== document) return absolute(value, page);
    return moved && !/^\s*(?:#|$)/.test(value) ? absolute(value, page) : value;
  };
  const resolve = (made, page) => {
    for (const name in owners) {
      if (!hasAttribute(made, name) || !owners[name].test(localName(made))) continue;
      const value = getAttribute(made, name);
      const parts = name === "srcset" ? value.split(/,\s+/).map((one) => one.trim().replace(/^\S+/, (url) => written(url, page))).join(", ") : written(value, page);
      if (parts !== value) setAttribute(made, name, parts);
    }
  };

  const starts = "pre, textarea, listing";  // an HTML parser drops a line break at the start of these elements
  const breaks = (node) => { const first = childNodes(node)[0]; return first && first.nodeType === Node.TEXT_NODE && first.data[0] === "\n"; };
  const padded = (made) => { if (breaks(made)) childNodes(made)[0].insertData(0, "\n"); };

  const boxed = (body) => {
    const box = createElement(inert, "div");
    setAttribute(box, "data-frame", addressOf(ownerDocument(body)));
    for (const one of within(body, [...childNodes(body)])) appendChild(box, one);
    return box;
  };
  const whole = (node) =>  // elements that concern the whole page, or are not shown
    nodeType(node) === Node.COMMENT_NODE || (isElement(node) && (/^(?:base|title|noscript|plaintext)$/.test(localName(node))
    || (localName(node) === "meta" && !hasAttribute(node, "itemprop"))));
  const copies = (node) => {
    const page = ownerDocument(node);
    if ((inner || page !== document) && whole(node)) return [];
    if (named(node, "slot") && orNull(() => host(getRootNode(node)))) {
      const filled = assignedNodes(node, { flatten: true });
      return within(host(getRootNode(node)), filled.length ? filled : [...childNodes(node)]);
    }
    const deep = named(node, "template");
    const made = importNode(inert, node, deep);
    if (!isElement(node)) return [made];
    resolve(made, page);
    if (!deep && !(scripted && localName(node) === "noscript"))
      for (const one of within(node, [...childNodes(shadowRoot(node) || node)])) appendChild(made, one);
    if (/^(?:pre|textarea|listing)$/.test(localName(made))) padded(made);
    if (foreign(node)) {
      const place = createElement(inert, "div");
      setAttribute(place, "data-frame", mark + (far.push(node) - 1));
      return [made, place];
    }
    const body = held(node);
    return body && childNodes(body).length ? [made, boxed(body)] : [made];
  };
  const parentOf = (node) => parentNode(node) && orNull(() => host(parentNode(node))) || parentNode(node);
  const listed = (list) => {  // whether a list lost rows, and is not in a row of another such list
    if (!list || !list.rows.some((row) => !row.element)) return false;
    for (let node = list.node, above; (above = parentOf(node)); node = above)
      if (lists.has(above) && lists.get(above).rows.some((row) => row.element === node) && listed(lists.get(above))) return false;
    return true;
  };
  const lists = !use && globalThis[Symbol.for("gossamer.scrolling")] ? globalThis[Symbol.for("gossamer.scrolling")].lists : new Map();
  const hidden = (node) => { const { width, height } = rectOf(node); return width === 0 && height === 0; };  // spare elements for rows
  const lost = new Set([...lists.values()].filter(listed));
  const within = (node, children) => {  // the copies of the children, with the rows that left among them
    const list = lists.get(node);
    if (!lost.has(list)) return children.flatMap(copies);
    const rows = [...list.rows].sort((a, b) => Math.abs(a.at - b.at) > 1 ? a.at - b.at : a.across - b.across);
    const known = new Set(rows.map((row) => row.element));
    const first = children.findIndex((child) => known.has(child)), end = first < 0 ? children.length : first;
    const all = rows.flatMap((row) => !row.element ? row.copies.map((one) => importNode(inert, one, true)) : children.includes(row.element) ? copies(row.element) : []);
    return [...children.slice(0, end).flatMap(copies), ...all, ...children.slice(end).filter((child) => !known.has(child) && !(isElement(child) && hidden(child))).flatMap(copies)];
  };
  const clone = (node) => {  // faster than `copies`, for a document without shadow roots and frames
    const made = importNode(inert, node, true);
    if (scripted) for (const one of querySelectorAll(made, "noscript")) one.textContent = "";
    for (const one of querySelectorAll(made, starts)) padded(one);
    if (moved || legacy) for (const one of querySelectorAll(made, linked)) resolve(one, document);
    return made;
  };

  if (use) return use({ getter, method, localName, isElement, shadowRoot, select, copies, contentDocument, orNull, getAttribute, parentOf, outerHTML, rectOf });
  if (mark) globalThis[mark] = far;
  if (inner) {
    const body = /^(?:https?|about|data|blob):/.test(addressOf(document)) && bodyOf(document);
    const text = body && childNodes(body).length ? outerHTML(boxed(body)) : "";
    return [text.length > most ? text.length : text, addressOf(document), far.length];
  }
  const top = getter(Document, "documentElement")(document);
  let read = top;
  try {
    if (top && namespaceURI(top) === "http://www.w3.org/1999/xhtml") {
      const framed = [...select(document, "iframe")].some((one) => held(one) || foreign(one));
      // a property is faster than its getter, and a form field of this name only makes `copies` run in vain
      if (framed || lost.size || [...select(document, "*")].some((one) => one.shadowRoot)) read = copies(top)[0];
      else if (moved || legacy || select(document, "noscript").length || [...select(document, starts)].some(breaks)) read = clone(top);
    }
  } catch {
    far.length = 0;
  }
  const doctype = getter(Document, "doctype")(document);
  const type = doctype ? new XMLSerializer().serializeToString(doctype) + "\n" : "";
  const text = read ? type + outerHTML(read) : "";
  return [text.length > most ? text.length : text, way ? way.nextHopProtocol : "", far.length];
}
