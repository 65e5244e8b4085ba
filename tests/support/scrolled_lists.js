// A list that loads its rows while it is scrolled, as LIST describes it (see scrolled_lists.py). With `?driven=N`, the
// page scrolls itself as fast as a browser can show every row: by one view in each frame, until it has shown N rows.
(() => {
  const list = LIST
  const place = document.getElementById("list")
  const state = { next: list.first, busy: false, ended: false }
  const last = list.rows === null ? Infinity : list.rows
  state.ended = state.next >= last

  const markup = row =>
    `<a href="/${list.name}/item/${row.number}">${row.title}</a> <span class="price">${row.price}</span>`
  const element = row => {
    const made = document.createElement("div")
    made.className = "row"
    made.dataset.row = row.number
    made.style.cssText = `height:${list.height}px;overflow:hidden`
    made.innerHTML = markup(row)
    return made
  }
  const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
  const numbered = number => ({
    number, title: `${list.word} number ${number}`, price: (number % 97 + 0.5).toFixed(2),
  })
  const fetched = async from => {
    if (list.wait === "server") return (await fetch(`/${list.name}/rows?from=${from}`)).json()
    await sleep(list.delay * 1000)
    const rows = []
    for (let n = from; n < Math.min(from + list.batch, last); n++) rows.push(numbered(n))
    return rows
  }

  // Loads the next batch, unless one is on its way. Returns whether there were rows.
  const more = async () => {
    if (state.busy || state.ended) return false
    state.busy = true
    spinner(true)
    const rows = await fetched(state.next)
    spinner(false)
    state.next += rows.length
    // a list that cannot know its end asks once more and gets an empty batch
    state.ended = rows.length === 0 || (list.knows_end && state.next >= last)
    state.rendered(rows)
    state.busy = false
    if (state.settled) state.settled()
    return rows.length > 0
  }
  const spinner = shown => {
    const old = document.getElementById("spinner")
    if (old) old.remove()
    if (shown && list.spinner) {
      const made = document.createElement("p")
      made.id = "spinner"
      made.textContent = "Loading"
      place.after(made)
    }
  }
  const append = rows => {
    for (const row of rows) place.append(element(row))
    if (state.ended && list.spinner) place.insertAdjacentHTML("afterend", "<p>That is all</p>")
  }
  const debounced = run => {
    if (!list.debounce) return run
    let timer = 0
    return () => { clearTimeout(timer); timer = setTimeout(run, list.debounce) }
  }

  const box = list.box ? document.getElementById("box") : null
  const view = box || document.documentElement
  const target = box || window
  const left = () => list.sideways
    ? view.scrollWidth - view.scrollLeft - view.clientWidth
    : view.scrollHeight - view.scrollTop - view.clientHeight

  const onScroll = () => {
    const check = async () => { while (left() <= list.margin + 1 && await more()); }
    state.rendered = append
    target.addEventListener("scroll", debounced(check), { passive: true })
    check()
  }

  const onButton = () => {
    const make = () => {
      const made = document.createElement(list.button)
      made.className = "more"
      made.textContent = "Load more"
      if (list.button === "a") made.href = "#"
      if (list.button === "div") made.setAttribute("role", "button")
      made.addEventListener("click", press)
      return made
    }
    const press = event => {
      event.preventDefault()
      if (state.busy) return
      const button = event.currentTarget
      if (list.while_loading === "disabled") button.disabled = true
      if (list.while_loading === "text") button.textContent = "Loading"
      if (list.while_loading === "gone") button.remove()
      more()
    }
    state.rendered = rows => {
      append(rows)
      const old = document.querySelector(".more")
      if (!state.ended) {
        if (list.while_loading === "disabled") old.disabled = false
        else { if (old) old.remove(); place.after(make()) }
      } else if (list.at_end === "hidden") old ? old.style.display = "none" : 0
      else if (list.at_end === "disabled") old ? old.disabled = true : 0
      else if (old) old.remove()
    }
    if (!state.ended) place.after(make())
  }

  const onObserver = () => {
    const options = { root: box, rootMargin: `${list.margin}px` }
    let watched
    const observer = new IntersectionObserver(async entries => {
      if (!entries.some(entry => entry.isIntersecting)) return
      if (await more()) watch()
    }, options)
    const watch = () => {
      if (watched) observer.unobserve(watched)
      if (list.sentinel === "last row" && place.lastElementChild) watched = place.lastElementChild
      else if (!watched) {
        watched = document.createElement("div")
        watched.style.height = "1px"
        place.after(watched)
      }
      observer.observe(watched)
    }
    state.rendered = append
    watch()
  }

  // Rows that exist only while they are visible. `grows`: the list gets longer batch by batch; otherwise its
  // height is known from the start and placeholders stand for the rows on their way.
  const onVirtual = () => {
    const known = new Map()
    const asked = new Set()
    const pool = []
    place.style.position = "relative"
    for (let n = 0; n < list.first; n++) known.set(n, numbered(n))
    const length = () => list.grows ? state.next : last
    const render = () => {
      place.style.height = `${length() * list.height}px`
      const top = box ? box.scrollTop : Math.max(0, -place.getBoundingClientRect().top)
      const high = box ? box.clientHeight : innerHeight
      const start = Math.max(0, Math.floor(top / list.height) - list.overscan)
      const end = Math.min(length(), Math.ceil((top + high) / list.height) + list.overscan)
      if (list.grows) {
        if (end >= state.next) more()
      } else if (list.delay || list.wait === "server") {
        for (let n = start - start % list.batch; n < end; n += list.batch) {
          if (known.has(n) || asked.has(n)) continue
          asked.add(n)
          fetched(n).then(rows => { for (const row of rows) known.set(row.number, row); render() })
        }
      } else for (let n = start; n < end; n++) known.set(n, numbered(n))
      draw(start, end)
    }
    const draw = list.recycles
      ? (start, end) => {
        while (pool.length < end - start) { pool.push(element(numbered(0))); place.append(pool.at(-1)) }
        pool.forEach((node, i) => {
          const n = start + i
          const row = known.get(n)
          node.style.cssText = `position:absolute;height:${list.height}px;transform:translateY(${n * list.height}px)`
          node.style.display = n < end ? "" : "none"
          if (n >= end) return
          if (!row) { node.innerHTML = "<i>…</i>"; delete node.dataset.row; return }
          if (!node.querySelector("a")) node.innerHTML = markup(row)
          node.dataset.row = n
          node.querySelector("a").setAttribute("href", `/${list.name}/item/${n}`)
          node.querySelector("a").firstChild.data = row.title
          node.querySelector(".price").textContent = row.price
        })
      }
      : (start, end) => {
        const nodes = []
        for (let n = start; n < end; n++) {
          const row = known.get(n)
          const node = row ? element(row) : document.createElement("div")
          node.style.cssText = `position:absolute;height:${list.height}px;top:${n * list.height}px`
          nodes.push(node)
        }
        place.replaceChildren(...nodes)
      }
    state.rendered = rows => { for (const row of rows) known.set(row.number, row); render() }
    state.settled = render // rows that do not fill the view are followed by the next batch
    const soon = () => requestAnimationFrame(render)
    target.addEventListener("scroll", debounced(soon), { passive: true })
    render()
  }

  const drive = wanted => {
    const seen = new Set()
    let shown = false, left = ""  // whether the last frame showed all rows of the view; the rows of the view that was left
    const move = () => {
      const rows = [...place.children]
      for (const row of rows) if (row.dataset.row) seen.add(row.dataset.row)
      if (seen.size >= wanted) { document.documentElement.dataset.driven = ""; return }
      requestAnimationFrame(move)
      const button = list.kind === "button" && document.querySelector(".more")
      if (button && !button.disabled && !state.busy) button.click()
      const ofView = list.kind === "virtual" ? rows.map(row => row.dataset.row).join() : ""
      const drawn = rows.length > 0 && rows.every(row => row.dataset.row || row.style.display === "none")
      if (drawn && shown && (ofView !== left || list.kind !== "virtual")) {
        left = ofView
        const size = list.sideways ? { left: view.clientWidth } : { top: view.clientHeight }
        view.scrollBy({ ...size, behavior: "instant" })
      }
      shown = drawn
    }
    requestAnimationFrame(move)
  }

  if (list.kind !== "virtual") append(Array.from({ length: list.first }, (_, n) => numbered(n)))
  ;({ window: onScroll, box: onScroll, button: onButton, observer: onObserver, virtual: onVirtual })[list.kind]()
  const driven = new URLSearchParams(location.search).get("driven")
  if (driven) drive(Number(driven))
})()
