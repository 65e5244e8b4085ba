import { base } from "$app/paths";

export const HASH = import.meta.env.VITE_HASH ? "#" : base;

export async function load(fetch, name) {
  const answer = await fetch(`${base}/data/${name}.json`);
  return answer.json();
}
