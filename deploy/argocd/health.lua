-- The health of an Experiment for Argo CD: the value of resource.customizations.health.muster.dev_Experiment in the
-- ConfigMap argocd-cm. A stuck experiment is degraded with the sentence that names what it waits for.
local health = {status = "Progressing", message = "musterd has not seen it yet"}
local status = obj.status
if status == nil or status.phase == nil then
  return health
end
health.message = status.message or ""
local of_phase = {Running = "Healthy", Succeeded = "Healthy", Failed = "Degraded", Suspended = "Suspended"}
health.status = of_phase[status.phase] or "Progressing"
for _, condition in ipairs(status.conditions or {}) do
  if condition.type == "Stuck" and condition.status == "True" then
    health.status = "Degraded"
    health.message = condition.reason .. ": " .. condition.message
  end
end
return health
