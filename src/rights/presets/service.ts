/**
 * Presets: rights that administrators have combined, for users who share objects. A grant made from a preset has its content: a
 * change of the preset changes the grant, and a deletion of the preset deletes the grant.
 */
import { isDeepStrictEqual } from 'node:util'
import type { EventLog, NewEvent } from '../../events/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { assertVersion, type ConventionOf } from '../../platform/config/versions.ts'
import { AppError, badRequest, missingSystemRight } from '../../platform/errors.ts'
import { type NeededRight, requireRight } from '../../platform/http/system-right.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import { confirmTask, type Task } from '../../platform/values/tasks.ts'
import { assertStorable } from '../../platform/values/text.ts'
import { actingRight, requireGivingEverywhere } from '../giving.ts'
import { draftPreset, termsOf } from './draft.ts'
import type { Preset, PresetContext, PresetTerms, PresetUse } from './model.ts'
import { renderPreset } from './render.ts'
import type { PresetInput, PresetOutput } from './schema.ts'
import * as store from './store.ts'

export const managePresets: NeededRight = { name: 'system.rightpresetmanager' }

export interface PresetDeps {
  readonly db: Db
  readonly events: EventLog
  readonly existingTags: (from: Queryable, ids: readonly number[]) => Promise<ReadonlySet<number>>
  readonly use: PresetUse
  readonly rights: Parameters<typeof requireGivingEverywhere>[0]
  readonly conventionOf: ConventionOf
  /** Whether links with credentials may lead to the address. */
  readonly mayShareAt: (address: URL) => boolean
}

/** The content of presets, for grants that are about to be made from them. */
export { shareUrls, usePresets as presetTerms } from './store.ts'

export type PresetService = ReturnType<typeof createPresetService>

export type Removal = { readonly kind: 'done' } | { readonly kind: 'confirm'; readonly tasks: Task[] }

export function createPresetService(deps: PresetDeps) {
  const { db, events, use } = deps

  /** Finds and locks the presets to be changed. @throws {AppError} `LookupNotFound`, `VersionMismatch`. */
  async function loadStored(
    tx: Tx,
    actor: Actor,
    context: PresetContext,
    inputs: readonly PresetInput[],
  ): Promise<(Preset | null)[]> {
    const ids = inputs.flatMap(({ right_preset: { _id } }) => _id ?? [])
    const found = new Map((await store.lockPresets(tx, context, ids)).map((preset) => [preset.id, preset]))
    const seen = new Set<number>()
    return inputs.map(({ right_preset: { _id, _version } }, index) => {
      const path = `[${index}].right_preset`
      if (_id === undefined || _id === null) {
        if ((_version ?? 1) <= 1) return null
        throw badRequest(`${path} is an update by its _version: it needs _id`, { path, version: _version })
      }
      const stored = found.get(_id)
      if (!stored) throw unknownPreset(_id, path)
      if (seen.has(_id)) throw badRequest(`${path} is in the request twice`, { path, _id })
      seen.add(_id)
      assertVersion(_version, stored.version, deps.conventionOf(actor), { path: `${path}._version` })
      return stored
    })
  }

  async function requireTags(tx: Tx, rows: readonly store.PresetRow[]): Promise<void> {
    const tags = new Map<number, string>()
    for (const [index, { terms }] of rows.entries()) {
      const { all = [], any = [], not = [] } = terms.tagfilter ?? {}
      for (const id of [...all, ...any, ...not]) tags.set(id, `[${index}].right_preset.preset.tagfilter`)
    }
    if (tags.size === 0) return
    const existing = await deps.existingTags(tx, [...tags.keys()])
    for (const [id, path] of tags) if (!existing.has(id)) throw new AppError('TagNotFound', { path, id })
  }

  /**
   * A change of a used preset changes the rights of all principals of its grants, so it requires the right to give these rights. A
   * preset that is not used gives nobody anything. To make a grant from it, a user needs the right to share.
   * @throws {AppError} `RightRequired`
   */
  async function requireGiven(tx: Tx, actor: Actor, changed: readonly ChangedPreset[]): Promise<void> {
    if (actor.isRoot || changed.length === 0) return
    const used = await use.used(
      tx,
      changed.map(({ row }) => row.id),
    )
    if (!used) return
    await requireGivingEverywhere(deps.rights, actor, 'right_preset.preset')
    // A preset must not add this right to grants that others have made.
    const acts = changed.some(
      ({ row, before }) =>
        row.terms.rights[actingRight] &&
        !isDeepStrictEqual(row.terms.rights[actingRight], before.terms.rights[actingRight]),
    )
    if (acts) throw missingSystemRight('system.root', { path: 'right_preset.preset.rights' })
  }

  /**
   * Links contain credentials, so they may only lead to the service itself, or to addresses that its sign-ins may lead to.
   * @throws {AppError} with the name of the setting
   */
  function assertShareUrl(context: PresetContext, { share_url: sent }: PresetTerms, place: string): void {
    if (context !== 'collection' || sent === undefined) return
    const path = `${place}.preset.share_url`
    const address = /^https?:\/\/[^/\s?#\\@][^\s?#\\@]*$/i.test(sent) ? URL.parse(sent) : null
    if (!address) throw badRequest(`${path} must be an http or https address without query and fragment`, { path })
    if (deps.mayShareAt(address)) return
    throw badRequest(`${path}: the origin is not in svc.services.webapp.loginAllowRedirects`, {
      path,
      value: address.origin,
    })
  }

  return {
    /** Every user may read presets. */
    async list(context: PresetContext): Promise<PresetOutput[]> {
      return (await store.listPresets(db, context)).map(renderPreset)
    },

    /** The preset as a list of one; an unknown one is an empty list, as clients of the interface expect. */
    async read(context: PresetContext, id: number): Promise<PresetOutput[]> {
      return (await store.findPresets(db, context, [id])).map(renderPreset)
    },

    /** Creates and updates presets, all or none, together with the grants that are made from them. */
    async save(actor: Actor, context: PresetContext, inputs: readonly PresetInput[]): Promise<PresetOutput[]> {
      requireRight(actor, managePresets)
      assertStorable(inputs, 'body')
      const ids = await db.transaction(async (tx) => {
        const stored = await loadStored(tx, actor, context, inputs)
        const fresh = (await store.newPresetIds(tx, stored.filter((one) => !one).length)).values()
        const rows = inputs.map((input, index): store.PresetRow => {
          const before = stored[index] ?? null
          const id = before?.id ?? (fresh.next().value as number)
          const draft = draftPreset(context, input, before, `[${index}].right_preset`)
          if (draft.terms.share_url !== before?.terms.share_url)
            assertShareUrl(context, draft.terms, `[${index}].right_preset`)
          return { id, version: (before?.version ?? 0) + 1, context, ...draft }
        })
        await requireTags(tx, rows)
        await store.writePresets(tx, rows)
        const changed = rows.flatMap((row, index): ChangedPreset[] => {
          const before = stored[index]
          return before && !isDeepStrictEqual(termsOf(before.terms), termsOf(row.terms)) ? [{ row, before }] : []
        })
        await requireGiven(tx, actor, changed)
        if (changed.length > 0)
          await use.apply(
            tx,
            changed.map(({ row }) => row),
          )
        await events.append(
          tx,
          rows.map((row, index) =>
            presetEvent(stored[index] ? 'RIGHT_PRESET_UPDATE' : 'RIGHT_PRESET_INSERT', actor, row),
          ),
        )
        return rows.map(({ id }) => id)
      })
      const saved = new Map((await store.findPresets(db, context, ids)).map((preset) => [preset.id, preset]))
      return ids.flatMap((id) => {
        const preset = saved.get(id)
        return preset ? renderPreset(preset) : []
      })
    },

    /** Deletes a preset and the grants made from it; if there are any, asks first. An unknown preset is as good as deleted. */
    async remove(actor: Actor, context: PresetContext, id: number, confirmed: boolean): Promise<Removal> {
      requireRight(actor, managePresets)
      return db.transaction(async (tx): Promise<Removal> => {
        const [preset] = await store.lockPresets(tx, context, [id])
        if (!preset) return { kind: 'done' }
        const count = confirmed ? 0 : await use.count(tx, id)
        if (count > 0) return { kind: 'confirm', tasks: [removalTask(preset, count)] }
        await use.remove(tx, id)
        await store.deletePreset(tx, id)
        await events.append(tx, [presetEvent('RIGHT_PRESET_DELETE', actor, preset)])
        return { kind: 'done' }
      })
    },

    /** For the catalogue: all presets by context. */
    async byContext(): Promise<ReadonlyMap<PresetContext, PresetOutput[]>> {
      const presets = await store.listPresets(db, null)
      return new Map(
        [...Map.groupBy(presets, ({ context }) => context)].map(([context, list]) => [context, list.map(renderPreset)]),
      )
    },
  }
}

/** A preset whose content changes. */
interface ChangedPreset {
  readonly row: store.PresetRow
  readonly before: Preset
}

function unknownPreset(id: number, path: string): AppError {
  return new AppError('LookupNotFound', { path, basetype: 'right_preset', id })
}

function removalTask({ id, displayname }: Preset, count: number): Task {
  const name = Object.values(displayname)[0] ?? String(id)
  return confirmTask({
    title: 'The preset is in use',
    message: `${name}: the grants made from it are deleted as well, on ${count} objects.`,
    name: 'confirm',
    value: 'delete',
  })
}

function presetEvent(
  type: 'RIGHT_PRESET_INSERT' | 'RIGHT_PRESET_UPDATE' | 'RIGHT_PRESET_DELETE',
  actor: Actor,
  { id, version, displayname, context }: Pick<store.PresetRow, 'id' | 'version' | 'displayname' | 'context'>,
): NewEvent {
  const info = { displayname, context }
  return { type, actor, basetype: 'right_preset', objectId: id, objectVersion: version, info }
}
