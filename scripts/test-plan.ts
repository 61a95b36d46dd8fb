/** Which test files of a whole run share a process, and which begin first. */

/** Begun first, the longest at the beginning: if one of them were begun last, a core would be idle while the other ends it. */
const long = [
  'test/package.test.ts',
  'test/platform/process.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/objects/twins.test.ts',
  'test/maintenance/user.test.ts',
  'test/rights/models.test.ts',
  'test/import/import.test.ts',
  'test/import/sheets/import.test.ts',
  'test/import/sheets/start.test.ts',
  'test/import/sheets/tutorial.test.ts',
  'test/files/durability.test.ts',
  'test/files/derived.test.ts',
  'test/platform/durability.test.ts',
  'test/platform/torture.test.ts',
  'test/platform/deadline.test.ts',
  'test/search/bulk.test.ts',
  'test/import/client.test.ts',
  'test/platform/slow-peers.test.ts',
  'test/files/films.test.ts',
  'test/jobs/jobs.test.ts',
  'test/import/demo.test.ts',
  'test/events/stream-many.test.ts',
  'test/objects/kill.test.ts',
  'test/datamodel/kill.test.ts',
  'test/signin/kill.test.ts',
  'test/platform/attack.test.ts',
  'test/platform/disk-full.test.ts',
]

/** They measure the memory of their process, or set up what all in it would use. */
const alone = [
  'test/import/sheets/reading.test.ts',
  'test/platform/byte-cache.test.ts',
  'test/rights/memory.test.ts',
  'test/search/in-memory.test.ts',
  'test/search/memory.test.ts',
]

/** Files that run in one process, about half a minute of work: what they load, they load once. */
const together = 6

/** Groups of files, one for each process, in the order in which they are to begin. */
export function planTests(files: readonly string[]): readonly (readonly string[])[] {
  const known = new Set(files)
  const apart = [...long, ...alone]
  const unknown = apart.filter((file) => !known.has(file))
  if (unknown.length > 0) throw new Error(`scripts/test-plan.ts names what is gone: ${unknown.join(', ')}`)
  // Neighbours load the same modules.
  const others = files.filter((file) => !apart.includes(file)).toSorted()
  const groups = Array.from({ length: Math.ceil(others.length / together) }, (_, group) =>
    others.slice(group * together, (group + 1) * together),
  )
  return [...apart.map((file) => [file]), ...groups]
}
