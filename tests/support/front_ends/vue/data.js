import { ref, watchEffect } from "vue";

export function useData(name) {
  const data = ref(null);
  watchEffect(async () => {
    const answer = await fetch(`${import.meta.env.BASE_URL}data/${name()}.json`);
    data.value = await answer.json();
    document.title = data.value.name;
  });
  return data;
}
