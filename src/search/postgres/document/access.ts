/** Lexemes that decide who may see an object; query/access.ts searches for them. */
import { coversFile, type FilePrincipal, filePrincipals, readPrincipals } from '../../../rights/service.ts'
import type { FileMarks, IndexSource } from '../../document/source.ts'
import {
  fileMark,
  inPool,
  limitedFor,
  maskFor,
  ofObjecttype,
  ownedBy,
  readableBy,
  withoutContainer,
  withoutPool,
  withTag,
} from './lexemes.ts'

export interface AccessLexemes {
  /** Lexemes that many objects have in common. */
  readonly shared: readonly string[]
  /** Lexemes of the owner, and of the users and groups named by grants on the object and its files. */
  readonly people: readonly string[]
  /** The moment when a grant begins or ends, in milliseconds since 1970; null: valid until the object changes. */
  readonly validUntil: number | null
}

export type AccessSource = Pick<
  IndexSource,
  'id' | 'objecttype' | 'poolId' | 'ownerUser' | 'ownerGroup' | 'tags' | 'acl' | 'privateAcl' | 'files'
>

/** `aclTable`: objects of the type have grants of their own. `now` in milliseconds since 1970. */
export function accessLexemes(source: AccessSource, aclTable: boolean, now: number): AccessLexemes {
  const shared = [ofObjecttype(source.objecttype), source.poolId === null ? withoutPool : inPool(source.poolId)]
  const people: string[] = []
  for (const tag of source.tags) shared.push(withTag(tag))
  const owner = ownerOf(source)
  if (owner) people.push(ownedBy(owner))
  const guarded = {
    systemObjectId: source.id,
    objecttypeId: source.objecttype,
    poolId: source.poolId,
    ownerUserId: source.ownerUser,
    ownerGroupId: source.ownerGroup,
    tags: source.tags,
    acl: aclTable ? source.acl : null,
    privateAcl: aclTable && source.privateAcl,
  }
  for (const marks of source.files ?? []) {
    for (const name of marks.classes) shared.push(fileMark(marks.columnId, 'class', name))
    for (const name of marks.versions) shared.push(fileMark(marks.columnId, 'version', name))
    people.push(...seersOf(marks, filePrincipals(guarded, now).principals))
  }
  if (guarded.privateAcl) shared.push(withoutContainer)
  if (!guarded.acl) return { shared, people, validUntil: null }
  const { principals, validUntil } = readPrincipals(guarded, now)
  for (const { who, masks } of principals) {
    people.push(readableBy(who))
    if (masks) people.push(limitedFor(who))
    for (const mask of masks ?? ['*']) people.push(maskFor(who, mask))
  }
  return { shared, people, validUntil }
}

/** The users who may see the preferred files of a column: their uploaders, and the principals of grants on the object. */
function seersOf({ columnId, uploaders, files }: FileMarks, principals: readonly FilePrincipal[]): string[] {
  const found = uploaders.flatMap((who) => [fileMark(columnId, 'seer', who), fileMark(columnId, 'originalSeer', who)])
  for (const who of new Set(principals.map((each) => each.who))) {
    const own = principals.filter((each) => each.who === who)
    const covers = (file: FileMarks['files'][number], version: string): boolean =>
      own.some(({ item }) => coversFile(item, { ...file, columnId, version }))
    const seesOriginals = files.every((file) => covers(file, 'original'))
    if (seesOriginals) found.push(fileMark(columnId, 'originalSeer', who))
    if (seesOriginals || files.every((file) => file.versions.some((version) => covers(file, version)))) {
      found.push(fileMark(columnId, 'seer', who))
    }
  }
  return found
}

/** `u5`, `g3`; null: no owner. */
export function ownerOf({ ownerUser, ownerGroup }: Pick<IndexSource, 'ownerUser' | 'ownerGroup'>): string | null {
  if (ownerUser !== null) return `u${ownerUser}`
  return ownerGroup === null ? null : `g${ownerGroup}`
}
