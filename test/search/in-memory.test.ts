// alone: it chooses the search engine of all tests of its process
/** What searches find does not depend on the engine: tests of searches, run with the index in memory. */
process.env.TEST_SEARCH_INDEX = new URL('memory/index.ts', import.meta.url).href

await import('./elements.test.ts')
await import('./aggregations.test.ts')
await import('./results.test.ts')
await import('./masks.test.ts')
await import('./synonyms.test.ts')
