/** What the caller sees, document by document. */
import type { Place } from '../../../src/objects/service.ts'
import type { SearchFilter, SearchGrant, TagFilter } from '../../../src/rights/service.ts'
import type { Sight, Vision } from '../../../src/search/plan/vision.ts'
import type { MemoryDocument } from './documents.ts'

export function isSeen(sight: Sight, document: MemoryDocument): boolean {
  return typeof sight === 'string' ? sight === 'always' : isIn(sight.place, document)
}

function isIn(place: Place, document: MemoryDocument): boolean {
  const { source, principals, owner } = document
  switch (place.is) {
    case 'pools':
      return source.poolId === null ? place.none : place.ids.includes(source.poolId)
    case 'tags':
      return fits(place.filter, source.tags)
    case 'owner':
      return owner !== null && place.who.includes(owner)
    case 'granted': {
      const { masks: wanted } = place
      return principals
        .filter(({ who }) => place.who.includes(who))
        .some(({ masks }) => {
          if (wanted === 'limited') return masks !== null
          return wanted === 'all' ? masks === null : masks?.includes(wanted) === true
        })
    }
    case 'private':
      return document.private
    case 'files':
      return (document.fileMarks.get(`${place.column.id} ${place.by}`) ?? []).some((name) => place.names.includes(name))
    case 'and':
      return place.of.every((each) => isIn(each, document))
    case 'or':
      return place.of.some((each) => isIn(each, document))
    case 'not':
      return !isIn(place.of, document)
  }
}

/** By the index, and unless it has moved out of sight since. */
export const mayRead = ({ rights, without }: Vision, document: MemoryDocument): boolean =>
  !without.includes(document.id) && isReadable(rights, document)

export function isReadable(filter: SearchFilter, document: MemoryDocument): boolean {
  if (filter.all) return true
  return (
    filter.grants.some((grant) => reaches(grant, document)) ||
    document.principals.some(({ who }) => filter.principals.includes(who))
  )
}

function reaches(
  { objecttypeIds, poolIds, tags, owner, reachesPrivate }: SearchGrant,
  document: MemoryDocument,
): boolean {
  if (document.private && !reachesPrivate) return false
  const { objecttype, poolId, tags: own } = document.source
  if (objecttypeIds && !objecttypeIds.includes(objecttype)) return false
  if (poolIds === 'none' ? poolId !== null : poolIds && !(poolId !== null && poolIds.includes(poolId))) return false
  if (tags && !fits(tags, own)) return false
  if (!owner) return true
  return [`u${owner.userId}`, ...owner.groupIds.map((id) => `g${id}`)].some((who) => who === document.owner)
}

function fits({ all, any, not }: TagFilter, tags: readonly number[]): boolean {
  const has = (tag: number): boolean => tags.includes(tag)
  return all.every(has) && (any.length === 0 || any.some(has)) && !not.some(has)
}
