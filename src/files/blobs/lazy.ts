import type { BlobStore } from './blob-store.ts'

/** A store that is created at its first use: installations without this kind of store do not load its libraries. */
export function createLazyStore(make: () => Promise<BlobStore>): BlobStore {
  let made: Promise<BlobStore> | undefined
  const store = (): Promise<BlobStore> => {
    made ??= make()
    return made
  }
  return {
    receive: async (source) => (await store()).receive(source),
    read: async (sha256, range) => (await store()).read(sha256, range),
    size: async (sha256) => (await store()).size(sha256),
    remove: async (sha256) => (await store()).remove(sha256),
    sweep: async (before) => (await store()).sweep(before),
    async *list() {
      yield* (await store()).list()
    },
    probe: async (options) => (await store()).probe(options),
    close: () =>
      void made?.then(
        (open) => open.close(),
        () => {},
      ),
  }
}
