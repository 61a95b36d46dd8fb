/** Finds objects whose field contains names of files (`update_search_field`). */
import type { Column } from '../datamodel/model.ts'
import type { ReadService } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import type { SearchService } from '../search/service.ts'
import type { IngestedFile, Target, Wire } from './model.ts'
import { comparable, fieldNames, nameKeys } from './names.ts'

export interface MatchDeps {
  readonly search: Pick<SearchService, 'walk'>
  readonly read: Pick<ReadService, 'stream'>
}

/** Files of one search, and objects that are read for them. */
const filesAtATime = 50
const mostCandidates = 1000

/**
 * The objects for each file by its name, as far as the actor finds them. Their field contains the whole name, the name
 * without extension, or that of the series, alone or between commas, semicolons or ends of lines.
 */
export async function matchingObjects(
  deps: MatchDeps,
  actor: Actor,
  target: Target,
  files: readonly IngestedFile[],
  deadline: Deadline,
): Promise<ReadonlyMap<IngestedFile, readonly number[]>> {
  const found = new Map<IngestedFile, number[]>()
  const { match } = target
  if (!match) return found
  for (let start = 0; start < files.length; start += filesAtATime) {
    const some = files.slice(start, start + filesAtATime)
    const ids = await candidates(deps, actor, { target, match, files: some }, deadline)
    if (ids.length === 0) continue
    const options = {
      format: 'standard' as const,
      mask: target.mask,
      includeFields: ['_system_object_id', match.fullName],
    }
    for await (const object of deps.read.stream(actor, ids, options, deadline)) {
      const texts = textsAt(object, match)
      for (const file of some) {
        if (!texts.some((text) => fieldNames(text, file.name, target.recognizeSeries))) continue
        found.set(file, [...(found.get(file) ?? []), object._system_object_id as number])
      }
    }
  }
  return found
}

interface Asked {
  readonly target: Target
  readonly match: Column
  readonly files: readonly IngestedFile[]
}

async function candidates(deps: MatchDeps, actor: Actor, asked: Asked, deadline: Deadline): Promise<number[]> {
  const { target, match, files } = asked
  const names = new Set(files.flatMap((file) => wantedNames(file, target)))
  const search = [...names].map((name) => element(match, name))
  const request = { objecttypes: [target.table.name], search: [{ type: 'complex', search }] }
  const ids: number[] = []
  for await (const page of deps.search.walk(actor, request as Parameters<SearchService['walk']>[1], { deadline })) {
    ids.push(...page)
    if (ids.length >= mostCandidates) break
  }
  return ids.slice(0, mostCandidates)
}

function wantedNames({ name }: IngestedFile, { recognizeSeries }: Target): string[] {
  const { stem, series } = nameKeys(name)
  return [comparable(name), stem, ...(recognizeSeries && series !== null ? [series] : [])]
}

/** A column of the type `string` is indexed as one word, the whole value: a name in a list is only found by a pattern. */
function element({ type, fullName }: Column, name: string) {
  const common = { type: 'text', bool: 'should', fields: [fullName] }
  if (type !== 'string') return { ...common, mode: 'token', string: name }
  return { ...common, mode: 'wildcard', string: `*${name.replaceAll(/[\\*?]/g, '\\$&')}*` }
}

/** The texts of a column in an answered object, in all languages and rows. */
function textsAt(object: Wire, { name, table }: Column): string[] {
  const block = (object[table.root.name] ?? {}) as Wire
  const rows = table === table.root ? [block] : ((block[table.wireKey] ?? []) as Wire[])
  return rows.flatMap((row) => {
    const value = row[name]
    if (typeof value === 'string') return [value]
    if (typeof value !== 'object' || value === null) return []
    return Object.values(value).filter((text) => typeof text === 'string')
  })
}
