/**
 * Ids of new objects. A save that is refused takes none: until nothing refuses it any more its new objects have
 * provisional ids, below zero, which stand wherever a link leads to one of them. A dry run keeps them to its end.
 */

/**
 * Provisional ids of one save. They begin anywhere, as those of a dry run are written until it is rolled back: two of
 * them must not wait for each other.
 */
export function provisionalIds(): () => number {
  let next = -1000 - Math.floor(Math.random() * 2 ** 52)
  return () => next--
}

export const isProvisional = (id: number): boolean => id <= -1000
