import vue from "@vitejs/plugin-vue";

export default {
  base: process.env.BASE,
  define: { HASH: JSON.stringify(process.env.ROUTING === "hash") },
  plugins: [vue()],
};
