/** Metadata of records, with the present rights of the user `oai_pmh`. */
import type { BaseConfig } from '../config/service.ts'
import type { FormatOptions, FormatService } from '../formats/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import { withoutDeclaration } from './markup.ts'
import type { HarvestRecord } from './model.ts'
import type { Prefix } from './prefixes.ts'

export interface DocumentDeps {
  readonly formats: Pick<FormatService, 'each' | 'parts' | 'isMadeAtOnce'>
  readonly settings: () => Pick<BaseConfig, 'oai_pmh' | 'file_url_expire'>
}

/** Records whose metadata are in memory at a time. */
const atATime = 200

/** Records with their metadata; null: the object can no longer be read. */
export type Documented = readonly { readonly record: HarvestRecord; readonly metadata: string | null }[]

/** Documents of the existing records, some at a time; those of a style sheet all at once. */
export async function* documentsOf(
  deps: DocumentDeps,
  actor: Actor,
  records: readonly HarvestRecord[],
  { prefix, deadline }: { readonly prefix: Prefix; readonly deadline: Deadline },
): AsyncGenerator<Documented> {
  const isMadeAtOnce = deps.formats.isMadeAtOnce(prefix.format)
  const size = isMadeAtOnce ? Math.max(records.length, 1) : atATime
  for (let start = 0; start < records.length; start += size) {
    const part = records.slice(start, start + size)
    const wanted = part.filter(({ deleted }) => !deleted).map(({ id }) => ({ systemObjectId: id }))
    const request = { format: prefix.format, objects: wanted, options: optionsOf(deps), deadline }
    const documents =
      wanted.length === 0
        ? new Map<number, string>()
        : isMadeAtOnce
          ? await deps.formats.parts(actor, request)
          : await oneByOne(deps, actor, request)
    yield part.map((record) => ({ record, metadata: record.deleted ? null : (documents.get(record.id) ?? null) }))
  }
}

async function oneByOne(
  { formats }: DocumentDeps,
  actor: Actor,
  request: Parameters<FormatService['each']>[1],
): Promise<ReadonlyMap<number, string>> {
  const documents = new Map<number, string>()
  for await (const { systemObjectId, bytes } of formats.each(actor, request)) {
    documents.set(systemObjectId, withoutDeclaration(bytes.toString('utf8')))
  }
  return documents
}

function optionsOf({ settings }: DocumentDeps): FormatOptions {
  const { include_parents, merge_linked_objects, merge_max_depth } = settings().oai_pmh
  return {
    allLanguages: true,
    includeParents: include_parents,
    mergeLinkedObjects: merge_linked_objects,
    mergeMaxDepth: merge_max_depth,
    fileDays: settings().file_url_expire.oai_pmh_days,
  }
}
