/*
 * form_outbox: DELETE /v3/{domain}/envelopes: cancels the emails of a domain
 * that wait to be sent.
 *
 * Threads: the worker's; render_done() is called on the committer's.
 */
#include "httpd/form/api_form.h"

#include "core/base/mem.h"
#include "core/ops/op_outbox.h"
#include "httpd/admission/request.h"
#include "httpd/json/operate.h"
#include "httpd/transport/reply.h"

static json_t *render_done(const struct op *op)
{
	(void)op;
	return json_pack("{s:s}", "message", "done");
}

static void on_canceled(struct change *change)
{
	struct operate *operate = (struct operate *)change;
	struct problem problem = change->refused;

	if (problem.kind == PROBLEM_NONE && change->result < 0)
		request_failed(change->request, "operation_failed", &change->err, &problem);
	reply_changed(change->request, &problem, operate->answer);
	operate_end(operate);
	free(operate);
}

void api_form_cancel(struct request *request)
{
	struct operate *operate = mem_new(struct operate);
	struct op_outbox *input;

	operate_begin(request, operate, &op_outbox_cancel);
	input = operate->input;
	input->domain = request->admission.param;
	operate->render = render_done;
	operate_submit(operate, on_canceled);
}
