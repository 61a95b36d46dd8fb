import type { Column, Model } from '../../datamodel/model.ts'
import type { KeptObjecttypes } from '../../objecttypes/service.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { KeptPools } from '../../pools/service.ts'
import { captionTexts } from './caption-texts.ts'
import type { CaptionVisibilityDeps } from './caption-visibility.ts'

type Settings = Readonly<Record<string, unknown>>

const rootUserId = 1

/** The settings of pools and object types for watermarks and captions (wire form, checked when it was saved). */
interface MarkSettings {
  readonly watermark?: Settings
  readonly caption?: Settings
  /** The user who set the caption; absent: root, as for captions older than this member. */
  readonly caption_set_by?: number
}

interface MarkingDeps extends Pick<CaptionVisibilityDeps, 'masks' | 'readersOf' | 'onGone'> {
  readonly model: () => Model
  readonly languages: () => readonly string[]
  /** Whether any watermark or caption is set at all, as far as this process knows. */
  readonly any: () => boolean
}

interface ShownWatermark {
  readonly imageId: number
  readonly gravity: 'nw' | 'n' | 'ne' | 'w' | 'c' | 'e' | 'sw' | 's' | 'se'
  readonly dissolve: number
  readonly size: string
  readonly tile: boolean
}

interface Caption {
  readonly text: string
  readonly size: string
  readonly padding: number | null
  readonly multiline: boolean
  readonly overlay: boolean
  readonly setBy: number
}

/** The object that decides the watermark and caption of a file: the first that has it and is not in the trash. */
interface MarkingUse {
  readonly fileId: number
  readonly columnId: number
  readonly systemObjectId: number
  /** Settings of the object type, then those of the pools from the root down to its own. */
  readonly layers: readonly MarkSettings[]
}

/** Whether any watermark or caption is set at all. */
export function marksAnywhere({
  pools,
  objecttypes,
}: Readonly<{ pools: Pick<KeptPools, 'snapshot'>; objecttypes: Pick<KeptObjecttypes, 'snapshot'> }>): () => boolean {
  return ofSnapshots(
    () => [pools.snapshot(), objecttypes.snapshot()],
    () => {
      const fields = [...objecttypes.snapshot().values()].map(({ settings }) => settings.fields)
      const said = [...[...pools.snapshot().values()].map(({ settings }) => settings), ...fields]
      return said.some(({ watermark, caption }) => watermark !== undefined || caption !== undefined)
    },
  )
}

/** A value that is computed once, until one of the snapshots changes. */
function ofSnapshots<T>(snapshots: () => readonly unknown[], find: () => T): () => T {
  let known: { readonly of: readonly unknown[]; readonly value: T } | null = null
  return () => {
    const now = snapshots()
    if (!known || now.some((one, index) => one !== known?.of[index])) known = { of: now, value: find() }
    return known.value
  }
}

/** Watermarks and captions of renditions: settings of the object type come first, and pools from the root down override them. */
export function createMarking({ model, languages, any, ...visibility }: MarkingDeps) {
  return {
    any,

    /** By file; files that no object has are missing. */
    async of(from: Queryable, fileIds: readonly number[]) {
      const uses = await firstUses(from, fileIds)
      const said = uses.map((use) => {
        const column = model().columnsById.get(use.columnId)
        return { use, watermark: watermarkOf(use.layers), caption: column ? captionOf(use.layers, column) : null }
      })
      const wanted = said.flatMap(({ use, caption }) =>
        caption ? [{ use, template: caption.text, setBy: caption.setBy }] : [],
      )
      const texts = await captionTexts({ model: model(), languages: languages(), ...visibility }, from, wanted)
      return new Map(
        said.map(({ use, watermark, caption }) => {
          const text = texts.get(use.fileId) ?? ''
          return [
            use.fileId,
            { watermark, caption: caption && text !== '' ? shownCaption(caption, text) : null },
          ] as const
        }),
      )
    },
  }
}

function shownCaption({ setBy: _, ...caption }: Caption, text: string) {
  return { ...caption, text }
}

function imageOf(watermark: Settings | undefined): number | null {
  const image = watermark?.image as { readonly _id?: number } | null | undefined
  return image?._id ?? null
}

/** Each member comes from the nearest layer that has it; `image` null: no watermark from this layer on. */
function watermarkOf(layers: readonly MarkSettings[]): ShownWatermark | null {
  const merged: Settings = Object.assign({}, ...layers.map(({ watermark }) => watermark ?? {}))
  const imageId = imageOf(merged)
  if (imageId === null) return null
  const { gravity, dissolve, size, tile } = merged as {
    readonly gravity?: ShownWatermark['gravity'] | ''
    readonly dissolve?: number
    readonly size?: string
    readonly tile?: boolean
  }
  return { imageId, gravity: gravity || 'c', dissolve: dissolve ?? 100, size: size ?? '', tile: tile ?? false }
}

/** The caption settings of the field with the file, named in full or by its column. */
function captionOf(layers: readonly MarkSettings[], column: Pick<Column, 'name' | 'fullName'>): Caption | null {
  const said = ({ caption }: MarkSettings) => caption?.[column.fullName] ?? caption?.[column.name] ?? []
  const merged = Object.assign({}, ...layers.flatMap(said)) as {
    readonly text?: string
    readonly size?: string
    readonly padding?: string
    readonly multiline?: boolean
    readonly overlay?: boolean
  }
  const { text = '', size = '', padding, multiline = false, overlay = false } = merged
  if (text === '') return null
  // The nearest layer that has the text.
  const source = layers.findLast((layer) => Object.hasOwn(said(layer) as object, 'text'))
  const setBy = source?.caption_set_by ?? rootUserId
  return { text, size, padding: padding === undefined ? null : Number(padding), multiline, overlay, setBy }
}

/** With the settings as they are in the database: jobs follow a change at once. */
async function firstUses(from: Queryable, fileIds: readonly number[]): Promise<MarkingUse[]> {
  const { rows } = await from.query<MarkingUse>(
    `select f.id as "fileId", u."columnId", u."systemObjectId", jsonb_build_array(coalesce(t.settings->'fields', '{}')) || p.layers as layers
     from unnest($1::bigint[]) as f(id) cross join lateral (
       select u.column_id as "columnId", o.system_object_id as "systemObjectId", o.objecttype, o.pool_id
       from file_use u join object o using (system_object_id)
       where u.file_id = f.id and u.latest and o.deleted_at is null
       order by u.system_object_id, u.column_id limit 1
     ) u left join objecttype t on t.id = u.objecttype
     cross join lateral (
       with recursive path as (
         select id, parent_id, settings, 0 as above from pool where id = u.pool_id
         union all
         select p.id, p.parent_id, p.settings, above + 1 from pool p join path on p.id = path.parent_id
       )
       select coalesce(jsonb_agg(settings order by above desc), '[]') as layers from path
     ) p`,
    [fileIds],
    'first-file-uses',
  )
  return rows
}

/** Whether any object there has a file in its latest version. */
export async function haveFiles(
  from: Queryable,
  scope: { readonly pools: readonly number[] } | { readonly objecttypes: readonly number[] },
): Promise<boolean> {
  const [column, ids] = 'pools' in scope ? ['pool_id', scope.pools] : ['objecttype', scope.objecttypes]
  const { rows } = await from.query(
    `select from object o where o.${column} = any($1::bigint[]) and o.deleted_at is null and exists (
       select from file_use u where u.system_object_id = o.system_object_id and u.latest
     ) limit 1`,
    [ids],
    `files-of-${column}`,
  )
  return rows.length > 0
}
