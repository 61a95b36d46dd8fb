/**
 * Files of which objects a caller may see, as conditions that a search can ask: the rights on the object that is found count,
 * and who uploaded the file. What other objects with the same file would let see besides is not looked for.
 */
import type { Column, Table } from '../../datamodel/model.ts'
import type { CallerRights, FileGrant } from '../../rights/service.ts'
import { type Access, all, any, type Place } from './access.ts'

/** `any`: any version; `original`: what the file says of itself goes with the original. */
export type FileLevel = 'any' | 'original'

/** Where the caller may see the preferred files of a column, among the objects that they may read. */
export type FileSight = (column: Column, level: FileLevel) => Access

/** `free`: versions that rights do not name (`image.small`), which go with the object. */
export function fileAccess(caller: CallerRights, table: Table, free: readonly string[]): FileSight {
  if (caller.root) return () => 'always'
  const owned = ownedBy(caller)
  const grants = caller.fileGrants(table.id)
  const filter = caller.searchFilter()
  const who = filter.all ? [] : filter.principals
  return (column, level) => {
    const places = grants.flatMap((grant) => placeOf(table, grant, column, level) ?? [])
    if (isEverywhere(caller, table, grants, column)) return 'always'
    const open = level === 'any' ? free : free.filter((name) => name.endsWith('.original'))
    return {
      place: any([
        ...places,
        owned,
        { is: 'files', column, by: level === 'any' ? 'seer' : 'originalSeer', names: who },
        ...(open.length === 0 ? [] : [{ is: 'files', column, by: 'version', names: open } as const]),
      ]),
      unless: null,
    }
  }
}

function ownedBy({ userId, groupIds }: CallerRights): Place {
  return { is: 'owner', who: [`u${userId}`, ...groupIds.map((id) => `g${id}`)] }
}

/** Whether nothing is asked of any object: neither pool nor tags nor the kind of file. */
function isEverywhere(caller: CallerRights, table: Table, grants: readonly FileGrant[], column: Column): boolean {
  const plain = grants.filter(
    ({ tags, columnIds, classes, versions, reachesPrivate }) =>
      (reachesPrivate || !table.aclTable) &&
      tags === null &&
      (columnIds?.includes(column.id) ?? true) &&
      classes === null &&
      versions === null,
  )
  if (!plain.some(({ poolIds }) => poolIds === 'none')) return false
  const pools = new Set(plain.flatMap(({ poolIds }) => (poolIds === 'none' ? [] : poolIds)))
  return !table.poolLink || caller.poolIds().every((id) => pools.has(id))
}

function placeOf(
  { aclTable }: Table,
  { poolIds, tags, reachesPrivate, ...limits }: FileGrant,
  column: Column,
  level: FileLevel,
): Place | null {
  const files = filesOf(limits, column, level)
  if (files === 'none') return null
  const parts: Place[] = [
    poolIds === 'none' ? { is: 'pools', ids: [], none: true } : { is: 'pools', ids: poolIds, none: false },
    ...(tags ? [{ is: 'tags', filter: tags } as const] : []),
    ...(aclTable && !reachesPrivate ? [{ is: 'not', of: { is: 'private' } } as const] : []),
    ...(files === 'all' ? [] : [files]),
  ]
  return all(parts)
}

function filesOf(
  { columnIds, classes, versions }: Pick<FileGrant, 'columnIds' | 'classes' | 'versions'>,
  column: Column,
  level: FileLevel,
): Place | 'all' | 'none' {
  if (columnIds && !columnIds.includes(column.id)) return 'none'
  if (versions === null) return classes === null ? 'all' : { is: 'files', column, by: 'class', names: classes }
  const names = versions.filter(
    (name) =>
      (classes === null || classes.includes(name.split('.')[0] ?? '')) &&
      (level === 'any' || name.endsWith('.original')),
  )
  return names.length === 0 ? 'none' : { is: 'files', column, by: 'version', names }
}
