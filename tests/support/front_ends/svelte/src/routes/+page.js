import { load as data } from "$lib/data.js";

export const load = ({ fetch }) => data(fetch, "home");
