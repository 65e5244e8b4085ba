// Live changes, keys and copying. Every page works without this file.
"use strict";

const live = document.getElementById("live");
// The path below which a proxy serves these pages.
const base = document.body.dataset.base ?? "";
let paused = false;
let source = null;
let waiting = false;

// Loads the page again, and replaces the part that shows the result.
async function refresh() {
  const old = document.querySelector("[data-live]");
  if (!old || waiting || old.querySelector("details[open]")) return;
  waiting = true;
  try {
    const answer = await fetch(location.href, { redirect: "error" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("[data-live]");
    if (answer.ok && fresh) {
      old.replaceWith(fresh);
      tell(true);
    } else {
      tell(false);
    }
  } catch {
    tell(false);
  } finally {
    waiting = false;
  }
}

function tell(good) {
  const time = new Date().toTimeString().slice(0, 8);
  if (good) {
    live.textContent = `live, ${time}`;
    document.body.classList.remove("stale");
  } else if (!document.body.classList.contains("stale")) {
    live.textContent = `no answer since ${time}`;
    document.body.classList.add("stale");
  }
}

function watch() {
  if (source) source.close();
  source = null;
  if (paused || document.hidden || !document.querySelector("[data-live]")) {
    live.textContent = paused ? "stopped: p continues" : live.textContent;
    return;
  }
  const crawl = document.body.dataset.crawl;
  source = new EventSource(crawl ? `${base}/live?crawl=${encodeURIComponent(crawl)}` : `${base}/live`);
  source.onopen = refresh;
  source.onerror = () => tell(false);
  for (const kind of ["crawl.started", "crawl.updated", "crawl.changed", "crawl.ended"]) source.addEventListener(kind, refresh);
}

// Marks the next or the previous row.
function move(step) {
  const rows = [...document.querySelectorAll("#shown tbody tr, #shown .card")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.classList.contains("at"));
  rows[at]?.classList.remove("at");
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  next.classList.add("at");
  next.scrollIntoView({ block: "nearest" });
}

const keys = {
  "/": () => document.querySelector(".filters input, .filters select")?.focus(),
  "?": () => document.getElementById("keys").showModal(),
  g: () => location.assign(`${base}/crawls`),
  j: () => move(1),
  k: () => move(-1),
  o: () => document.querySelector(".at a")?.click(),
  x: () => document.querySelector(".actions button, .actions summary")?.focus(),
  p: () => {
    paused = !paused;
    watch();
  },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
  const act = keys[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});
document.addEventListener("visibilitychange", watch);
for (const button of document.querySelectorAll(".copy")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
  });
}
watch();
