/**
 * Ids of new objects. A refused save takes no ids: until all checks have passed, its new objects have provisional ids, below zero,
 * which are also used in links to these objects. A dry run keeps them to its end.
 */

/**
 * Provisional ids of one save. They start at a random number, since a dry run writes them until it is rolled back: two dry runs
 * must not wait for each other.
 */
export function provisionalIds(): () => number {
  let next = -1000 - Math.floor(Math.random() * 2 ** 52)
  return () => next--
}

export const isProvisional = (id: number): boolean => id <= -1000
