import { load as data } from "$lib/data.js";

export const load = ({ fetch, params, url }) => {
  const query = import.meta.env.VITE_HASH ? new URLSearchParams(url.hash.split("?")[1]) : url.searchParams;
  return data(fetch, `c-${params.slug}-${query.get("page") ?? 1}`);
};
