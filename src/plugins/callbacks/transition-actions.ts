import { CallbackFailed, type PendingChange, type Replacement, type SaveCallback } from '../../objects/service.ts'
import type { AskingAction } from '../../transitions/service.ts'
import type { PluginSnapshot } from '../model.ts'
import type { createCallbacks } from './pre-save.ts'
import type { AskWebhook } from './webhook.ts'

export interface TransitionActionOptions {
  readonly plugins: () => PluginSnapshot
  readonly ask: ReturnType<typeof createCallbacks>['ask']
  readonly askWebhook: AskWebhook
}

/**
 * Actions of transitions that run before the write, as callbacks of the change. If the plugin is off or the callback does
 * not exist, the action refuses: a workflow that is to check objects must not let any pass unchecked.
 */
export function createTransitionActions({ plugins, ask, askWebhook }: TransitionActionOptions) {
  async function askPlugin(
    { plugin: name, callback, info }: Extract<AskingAction, { type: 'plugin' }>,
    change: PendingChange,
  ): Promise<readonly Replacement[]> {
    const plugin = plugins().enabled.find((one) => one.name === name)
    if (!plugin) throw new CallbackFailed('the plugin is not on')
    const program = plugin.manifest.transitions.get(callback)
    if (!program) throw new CallbackFailed('the plugin has no such callback of transitions')
    return ask({ plugin, program }, change, change.objects, info)
  }

  return (action: AskingAction): SaveCallback => ({
    name: action.type === 'plugin' ? `${action.plugin}:${action.callback}` : `webhook ${action.name}`,
    kinds: ['save', 'remove', 'transition'],
    call: (change) => (action.type === 'plugin' ? askPlugin(action, change) : askWebhook(action.name, change)),
  })
}
