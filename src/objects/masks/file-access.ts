/**
 * The files that a caller may see, as conditions on their objects for a search. Only the rights on the object of the hit count, and
 * the uploader of the file. Other objects with the same file are ignored, even if they would show more of it.
 */
import type { Column, Table } from '../../datamodel/model.ts'
import {
  all,
  any,
  type CallerRights,
  type Expression,
  everything,
  type FileGrant,
  inPools,
  isEverything,
  nothing,
  ofOpen,
  withoutPool,
} from '../../rights/service.ts'
import type { Access } from './access.ts'

/** `any`: any version of the file; `original`: the original, which the file's own metadata needs. */
export type FileLevel = 'any' | 'original'

/** The objects, of those that the caller may read, whose preferred files of a column the caller may see. */
export type FileVisibility = (column: Column, level: FileLevel) => Access

/** `free`: versions that no right needs to name (`image.small`); the read right on the object is enough. */
export function fileAccess(caller: CallerRights, table: Table, free: readonly string[]): FileVisibility {
  if (caller.root) return () => 'always'
  const grants = caller
    .fileGrants(table.id)
    .map((grant) => (table.aclTable ? grant : { ...grant, when: ofOpen(grant.when) }))
  const names = caller.principals()
  return (column, level) => {
    if (isEverywhere(caller, table, grants, column)) return 'always'
    const open = level === 'any' ? free : free.filter((name) => name.endsWith('.original'))
    const columnId = column.id
    return {
      place: any([
        ...grants.map((grant) => placeOf(grant, column, level)),
        caller.owned,
        { is: 'files', columnId, by: level === 'any' ? 'seer' : 'originalSeer', names },
        ...(open.length === 0 ? [] : [{ is: 'files', columnId, by: 'version', names: open } as const]),
      ]),
      unless: null,
    }
  }
}

/** Whether a grant applies to every object: no condition on pool, tags or kind of file. */
function isEverywhere(caller: CallerRights, table: Table, grants: readonly FileGrant[], column: Column): boolean {
  const plain = grants.filter(
    ({ when, columnIds, classes, versions }) =>
      isEverything(when) && (columnIds?.includes(column.id) ?? true) && classes === null && versions === null,
  )
  if (!plain.some(({ poolIds }) => poolIds === 'none')) return false
  const pools = plain.flatMap(({ poolIds }) => (typeof poolIds === 'string' ? [] : [poolIds]))
  return !table.poolLink || caller.poolsOf(pools).length === caller.poolIds().length
}

function placeOf({ poolIds, when, ...limits }: FileGrant, column: Column, level: FileLevel): Expression {
  const files = filesOf(limits, column, level)
  if (poolIds === 'any') return all([when, files])
  return all([poolIds === 'none' ? withoutPool : inPools(poolIds), when, files])
}

function filesOf(
  { columnIds, classes, versions }: Pick<FileGrant, 'columnIds' | 'classes' | 'versions'>,
  column: Column,
  level: FileLevel,
): Expression {
  const columnId = column.id
  if (columnIds && !columnIds.includes(columnId)) return nothing
  if (versions === null) return classes === null ? everything : { is: 'files', columnId, by: 'class', names: classes }
  const names = versions.filter(
    (name) =>
      (classes === null || classes.includes(name.split('.')[0] ?? '')) &&
      (level === 'any' || name.endsWith('.original')),
  )
  return names.length === 0 ? nothing : { is: 'files', columnId, by: 'version', names }
}
