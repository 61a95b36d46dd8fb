import { collectionsSeen } from '../collections/service.ts'
import { createFollower, createHarvestService, createPrefixes, createSets, createTokens } from '../harvest/service.ts'
import type { Given, Ground } from './ground.ts'
import type { Objects } from './objects.ts'
import type { Outlets } from './outlets.ts'
import type { People } from './people.ts'
import type { Readers } from './readers.ts'

export type Harvest = ReturnType<typeof composeHarvest>

/** The records for harvesters, with the jobs that keep them up to date. */
export function composeHarvest(
  { config, db, log }: Given,
  { seal, heavyRequests }: Ground,
  { baseConfig, datamodel, events, languages, pools }: Readers,
  { rights, signIn }: People,
  { read, search }: Objects,
  { formats }: Pick<Outlets, 'formats'>,
  opened: AsyncDisposableStack,
) {
  const { externalUrl } = config
  const settings = baseConfig.get
  const sets = createSets({ db, datamodel, pools, rights, settings, collectionsSeen, languages })
  const follower = createFollower({
    db,
    log,
    sets,
    search,
    read,
    enabled: () => settings().oai_pmh.enabled,
    harvester: signIn.actorOfHarvests,
  })
  opened.defer(() => follower.close())
  const harvest = createHarvestService({
    db,
    events,
    externalUrl,
    settings,
    instanceName: () => baseConfig.instanceTitle() || config.databaseName,
    harvester: signIn.actorOfHarvests,
    read,
    follower,
    formats,
    prefixes: createPrefixes({ externalUrl, formats, sheets: () => settings().export.xslts }),
    sets,
    tokens: createTokens({ key: () => seal.keyFor('resumption tokens'), now: Date.now }),
    heavyRequests,
  })
  return { harvest }
}
