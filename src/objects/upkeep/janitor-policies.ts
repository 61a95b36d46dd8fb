import type { BaseConfigService } from '../../config/service.ts'
import type { DatamodelService } from '../../datamodel/service.ts'
import type { JanitorPolicy, ObjecttypeSettings } from '../../objecttypes/model.ts'
import type { KeptObjecttypes } from '../../objecttypes/service.ts'
import type { PoolSnapshot } from '../../pools/model.ts'
import type { KeptPools } from '../../pools/service.ts'

/** The pools and object types whose settings define how objects are cleaned up. */
export interface PolicyHolders {
  readonly pools: PoolSnapshot
  /** Object types without pools. */
  readonly objecttypes: Iterable<{ readonly id: number; readonly settings: ObjecttypeSettings }>
}

interface JanitorSources {
  readonly baseConfig: Pick<BaseConfigService, 'get'>
  readonly datamodel: Pick<DatamodelService, 'current'>
  readonly objecttypes: Pick<KeptObjecttypes, 'settings'>
  readonly pools: Pick<KeptPools, 'snapshot'>
}

/** The settings for cleaning up: of the base configuration, of pools, of object types without pools. */
export function janitorSettings({ baseConfig, datamodel, objecttypes, pools }: JanitorSources) {
  return {
    removal: baseConfig.get().janitor.object_and_file_removal,
    pools: pools.snapshot(),
    objecttypes: [...datamodel.current().objecttypes.values()]
      .filter(({ poolLink }) => !poolLink)
      .map(({ id }) => ({ id, settings: objecttypes.settings(id) })),
  }
}

/** The holder of the settings for an object `o`: its pool, or its object type. */
export const holderOf = `coalesce('p' || o.pool_id, 't' || o.objecttype)`

/**
 * The setting of each holder for one matter; undefined: the base configuration applies. It always applies where `overwrite` does
 * not allow holders to change it. The setting of a pool also applies to pools below it, unless they have their own.
 */
export function policyByHolder<K extends keyof JanitorPolicy>(
  { pools, objecttypes }: PolicyHolders,
  matter: K,
  overwrite: boolean,
): { readonly holder: string; readonly said: JanitorPolicy[K] | undefined }[] {
  const of = (holder: string, policies: readonly (JanitorPolicy | undefined)[]) => ({
    holder,
    said: overwrite ? policies.findLast((policy) => policy?.[matter])?.[matter] : undefined,
  })
  return [
    ...[...pools.values()].map(({ id, path }) =>
      of(
        `p${id}`,
        path.map((each) => pools.get(each)?.settings.janitor_policy),
      ),
    ),
    ...[...objecttypes].map(({ id, settings }) => of(`t${id}`, [settings.fields.janitor_policy])),
  ]
}
