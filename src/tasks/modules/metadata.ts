import type { Column, Mask, MaskField, Table } from '../../datamodel/model.ts'
import type { ObjectService, ReadService, TaskObject } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { type ConventionOf, expectedVersion } from '../../platform/config/versions.ts'
import { badRequest } from '../../platform/errors.ts'
import type { TagSnapshot } from '../../tags/service.ts'
import { assertKnown, flagOf, idOf, type Params, searchOf, searchParams, tagParams, tagsOf, wrong } from '../params.ts'
import { countObjects, runOverObjects, runSummary, type Searching } from './batches.ts'
import { type Filling, filled, type Wire } from './fill.ts'
import type { Run, TaskModule } from './model.ts'
import { changeEach, commentOf, type Part, saving, untilCurrent } from './save.ts'
import { assertTags, changedTags } from './tags.ts'

export interface MetadataModuleDeps {
  readonly search: Searching
  readonly objects: Pick<ObjectService, 'save'>
  readonly read: (actor: Actor, ids: readonly number[]) => Promise<TaskObject[]>
  readonly stream: ReadService['stream']
  /** The metadata of files, as objects that can be saved. */
  readonly map: (
    actor: Actor,
    fileIds: readonly number[],
    query: { readonly mapping: string; readonly objecttype: string; readonly mask: string; readonly pool_id?: number },
  ) => Promise<ReadonlyMap<number, object>>
  /** @throws {AppError} where there is no such mapping */
  readonly mapping: (id: number) => Promise<{ readonly type: { readonly exiftool_import?: boolean } }>
  readonly tags: () => TagSnapshot
  readonly conventionOf: ConventionOf
}

const known = [
  ...searchParams,
  'mapping',
  'override_values',
  'overwrite_values',
  'merge_values',
  ...tagParams,
  'dry_run',
]

function fillingOf(params: Params): Filling {
  const override = flagOf(params, 'override_values') || flagOf(params, 'overwrite_values')
  return { override, merge: flagOf(params, 'merge_values') }
}

/** `standard`: the mapping of the pool or the object type. */
function mappingOf(params: Params): string {
  const { mapping = 'standard' } = params
  if (mapping === 'standard' || mapping === null) return 'standard'
  if (typeof mapping === 'string') throw wrong('mapping', 'the id of a mapping, or standard')
  return `${idOf(mapping, 'mapping')}`
}

/** The first column of files that the mask shows, with the nested tables around it. */
function fileColumn(fields: readonly MaskField[]): { readonly path: readonly Table[]; readonly column: Column } | null {
  const shown = fields.filter(({ mode }) => mode !== 'off')
  for (const field of shown)
    if (field.kind === 'column' && field.column.type === 'eas') return { path: [], column: field.column }
  for (const field of shown) {
    const inner = field.kind === 'nested' ? fileColumn(field.fields) : null
    if (inner && field.kind === 'nested') return { ...inner, path: [field.table, ...inner.path] }
  }
  return null
}

/** The file whose metadata describes an object: the preferred one of the first row with a file. */
function fileOf(mask: Mask, block: Wire): number | null {
  const place = fileColumn(mask.fields)
  if (!place) return null
  let rows: Wire[] = [block]
  for (const table of place.path) rows = rows.flatMap((row) => (row[table.wireKey] as Wire[] | undefined) ?? [])
  const files = rows.flatMap(
    (row) => (row[place.column.name] as { _id: number; preferred?: boolean }[] | undefined) ?? [],
  )
  return (files.find(({ preferred }) => preferred) ?? files[0])?._id ?? null
}

export function metadataModule(deps: MetadataModuleDeps): TaskModule {
  const { search, objects, read, stream, map, tags, conventionOf } = deps

  /** Objects of one type and pool that are written in one mask, with the metadata of their files. */
  async function partsOf(run: Run, actor: Actor, mask: Mask, list: readonly TaskObject[]): Promise<Part[]> {
    const { params } = run.task
    const { table } = mask
    const [first] = list as [TaskObject]
    const blocks = new Map<number, Wire>()
    const ids = list.map(({ systemObjectId }) => systemObjectId)
    for await (const object of stream(actor, ids, { format: 'standard', mask })) {
      if (object._mask === mask.name) blocks.set(object._system_object_id as number, object[table.name] as Wire)
    }
    const files = new Map([...blocks].flatMap(([id, block]) => [[id, fileOf(mask, block)] as const]))
    const pool = table.poolLink && first.poolId !== null ? { pool_id: first.poolId } : {}
    const query = { mapping: mappingOf(params), objecttype: table.name, mask: mask.name, ...pool }
    const wanted = [...new Set([...files.values()].flatMap((id) => id ?? []))]
    const mapped = wanted.length === 0 ? new Map<number, object>() : await map(actor, wanted, query)
    const convention = conventionOf(actor)
    return list.flatMap((object) => {
      const block = blocks.get(object.systemObjectId)
      const said = mapped.get(files.get(object.systemObjectId) ?? 0) as Wire | undefined
      if (!block || !said) return []
      const { _pool: _, ...values } = said[table.name] as Wire
      const changes = filled(mask.fields, values, block, fillingOf(params))
      const after = table.hasTags ? changedTags(tags(), object.tags, tagsOf(params)) : null
      if (Object.keys(changes).length === 0 && after === null) return []
      const payload = {
        _objecttype: table.name,
        _mask: mask.name,
        _comment: commentOf(run),
        ...(after === null ? {} : { _tags: after.map((_id) => ({ _id })) }),
        [table.name]: { _id: object.id, _version: expectedVersion(object.version, convention), ...changes },
      }
      return [{ object, payload }]
    })
  }

  async function changeBatch(run: Run, actor: Actor, ids: readonly number[]) {
    const dryRun = flagOf(run.task.params, 'dry_run')
    return untilCurrent(ids, async (open) => {
      const live = (await read(actor, open)).filter(({ deleted, mask }) => !deleted && mask !== null)
      const parts: Part[] = []
      for (const list of Map.groupBy(
        live,
        ({ mask, poolId }) => `${mask?.table.id} ${mask?.name} ${poolId}`,
      ).values()) {
        parts.push(...(await partsOf(run, actor, list[0]?.mask as Mask, list)))
      }
      return changeEach(run, parts, { dryRun, change: saving(objects, actor, { dryRun }) })
    })
  }

  return {
    name: 'metadata',
    displayname: { 'de-DE': 'Metadaten übernehmen', 'en-US': 'Take over metadata' },
    description: {
      'de-DE': 'Übernimmt Metadaten der Dateien in die Datensätze, die eine Suche findet.',
      'en-US': 'Takes metadata of files over into the objects that a search finds.',
    },
    params: [
      { name: 'search', type: 'json' },
      { name: 'incremental', type: 'bool', default: false },
      { name: 'mapping', type: 'json', default: 'standard' },
      { name: 'override_values', type: 'bool', default: false },
      { name: 'merge_values', type: 'bool', default: false },
      { name: 'set_tags', type: 'tag-select', default: [] },
      { name: 'unset_tags', type: 'tag-select', default: [] },
      { name: 'dry_run', type: 'bool', default: false },
    ],
    async check(actor, params) {
      assertKnown(params, known)
      const mapping = mappingOf(params)
      if (mapping !== 'standard' && (await deps.mapping(Number(mapping))).type.exiftool_import !== true) {
        const name = 'task.task_params.mapping'
        throw badRequest(`${name}: the mapping ${mapping} is not for imports.`, { name, _id: Number(mapping) })
      }
      fillingOf(params)
      flagOf(params, 'dry_run')
      assertTags(tags(), tagsOf(params))
      await search.check(actor, searchOf(params).whole)
    },
    async preview(actor, params, deadline) {
      if (flagOf(params, 'dry_run')) return null
      const count = await countObjects(search, actor, searchOf(params), deadline)
      return { message: `Metadata of files will be taken over into ${count} objects.`, data: { count } }
    },
    async work(run) {
      const change = (actor: Actor, ids: readonly number[]) => changeBatch(run, actor, ids)
      const whole = await runOverObjects(search, run, searchOf(run.task.params), change)
      return whole ? { done: runSummary(run.state, flagOf(run.task.params, 'dry_run')) } : 'later'
    },
  }
}
