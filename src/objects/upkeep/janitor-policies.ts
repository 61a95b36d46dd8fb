import type { BaseConfigService } from '../../config/service.ts'
import type { DatamodelService } from '../../datamodel/service.ts'
import type { JanitorPolicy, ObjecttypeSettings } from '../../objecttypes/model.ts'
import type { KeptObjecttypes } from '../../objecttypes/service.ts'
import type { PoolSnapshot } from '../../pools/model.ts'
import type { KeptPools } from '../../pools/service.ts'

/** What of the settings says how objects are cleaned up. */
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

/** What is said of cleaning up: in the base configuration, by pools, by object types without pools. */
export function janitorSettings({ baseConfig, datamodel, objecttypes, pools }: JanitorSources) {
  return {
    removal: baseConfig.get().janitor.object_and_file_removal,
    pools: pools.snapshot(),
    objecttypes: [...datamodel.current().objecttypes.values()]
      .filter(({ poolLink }) => !poolLink)
      .map(({ id }) => ({ id, settings: objecttypes.settings(id) })),
  }
}

/** Who says it for an object `o`: its pool, or its object type. */
export const holderOf = `coalesce('p' || o.pool_id, 't' || o.objecttype)`

/**
 * What each of them says of one matter; undefined: what the base configuration says, always where they may say nothing else
 * (`overwrite`). A pool says it for those below it, unless these say something themselves.
 */
export function saidByHolders<K extends keyof JanitorPolicy>(
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
