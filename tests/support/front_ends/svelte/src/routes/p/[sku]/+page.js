import { load as data } from "$lib/data.js";

export const load = ({ fetch, params }) => data(fetch, `p-${params.sku}`);
