/** The objects that a caller can create and change, with masks, pools and tags. Editors ask for this before they send anything. */
import type { Model } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import type { CallerRights } from '../../rights/service.ts'
import { type ChoiceDeps, choicesOf } from './choices.ts'
import { createInfo } from './create.ts'
import type { CreateInfo, CreateInfoBody, UpdateInfo, UpdateInfoBody } from './schema.ts'
import { updateInfo } from './update.ts'

export interface InfoDeps extends ChoiceDeps {
  readonly db: Queryable
  readonly datamodel: { current(): Model }
  readonly rights: { forActor(actor: Actor): Promise<CallerRights> }
}

export type ObjectInfoService = ReturnType<typeof createObjectInfoService>

export function createObjectInfoService(deps: InfoDeps) {
  const choices = () => choicesOf(deps, deps.datamodel.current())
  return {
    create: async (actor: Actor, body: CreateInfoBody): Promise<CreateInfo> =>
      createInfo(choices(), await deps.rights.forActor(actor), body),
    update: async (actor: Actor, body: UpdateInfoBody): Promise<UpdateInfo> =>
      updateInfo(choices(), deps.db, await deps.rights.forActor(actor), body),
  }
}
